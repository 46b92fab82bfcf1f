// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import Logging
import OutriderJSON
package import OutriderRPC
import Synchronization

/// The log of the service: to stderr, to a file, or to a client. Never blocks whoever logs: lines go through a bounded
/// queue, and are dropped and counted when it is full (some clients never read our stderr).
package final class ServerLog: Sendable {
    private struct State {
        var setting: LogSetting
        var file: Int32 = -1
        weak var listener: (any Peer)?
        var number = 0
    }

    private let state: Mutex<State>
    private let writer: LineWriter

    package init(level: LogSetting.Level = .warning) {
        state = Mutex(State(setting: LogSetting(level: level, target: .stderr)))
        writer = LineWriter()
    }

    /// Returns the setting before.
    package func set(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting {
        let file = setting.target == .file ? try Self.open(setting.path) : -1
        let (before, old) = state.withLock { state in
            defer {
                state.setting = setting
                state.file = file
                state.listener = setting.target == .events ? peer : nil
            }
            return (state.setting, state.file)
        }
        if old >= 0 { writer.close(old) }
        return before
    }

    private static func open(_ path: String?) throws(RPCError) -> Int32 {
        let data: JSONObject = ["pointer": .string("/path")]
        guard let path, path.hasPrefix("/") else {
            throw RPCError(.invalidParams, "path must be the absolute path of the file to log to", data: data)
        }
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else {
            throw RPCError(.invalidParams, "path cannot be opened for appending: \(errnoText())", data: data)
        }
        return file
    }

    package func isLogged(_ level: LogSetting.Level) -> Bool {
        state.withLock { level.rank >= $0.setting.level.rank }
    }

    package func write(_ level: LogSetting.Level, _ message: @autoclosure () -> String) {
        guard isLogged(level) else { return }
        let message = message()
        let (target, file, listener, number) = state.withLock { state in
            state.number &+= 1
            return (state.setting.target, state.file, state.listener, state.number)
        }
        switch target {
        case .stderr: writer.write("outrider: \(level.rawValue): \(Self.line(message))\n", to: 2)
        case .file: writer.write("\(Self.now()) \(level.rawValue): \(Self.line(message))\n", to: file)
        case .events:
            listener?.offer(
                Event("event.notice", Notice(level: level.rawValue, code: "log", message: message)),
                key: "log \(number)")
        }
    }

    /// Waits a fifth of a second at most for what is queued.
    package func flush() { writer.flush() }

    private static func line(_ text: String) -> String {
        String(text.map { $0.isNewline ? " " : $0 })
    }

    private static func now() -> String {
        var seconds = time(nil)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// For libraries that log through swift-log.
    package func logger(_ label: String) -> Logger {
        Logger(label: label) { _ in Bridge(log: self) }
    }

    private struct Bridge: LogHandler {
        let log: ServerLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level {
            get { Logger.Level.allCases.first { log.isLogged(LogSetting.Level($0)) } ?? .critical }
            set {}
        }

        init(log: ServerLog) { self.log = log }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.write(LogSetting.Level(event.level), event.message.description)
        }
    }
}

private struct Notice: JSONEncodable {
    var level: String
    var code: String
    var message: String

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("level", level)
            writer.member("code", code)
            writer.member("message", message)
        }
    }
}

extension LogSetting.Level {
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    init(_ level: Logger.Level) { self = Self(rawValue: level.rawValue) ?? .critical }
}
