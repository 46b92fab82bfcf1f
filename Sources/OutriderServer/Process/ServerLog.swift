// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import Logging
import OutriderFiles
import OutriderJSON
package import OutriderRPC
import Synchronization

/// The log of the service: to stderr, to a file, or to a client. Never blocks the caller: lines go through a bounded
/// queue, and are dropped and counted when the queue is full (some clients never read the service's stderr).
package final class ServerLog: LogOutlet {
    private struct State {
        var setting: LogSetting
        var file: LineWriter?
        weak var listener: (any Peer)?
        /// The connection that turned the log on: only its own requests are logged; nil for all.
        var client: String?
        /// The setting before the log went to a client, and its `client`.
        var before: (setting: LogSetting, client: String?)?
        var number = 0
        /// Lines dropped by files that are closed.
        var dropped = 0
    }

    private let state: Mutex<State>
    private let standardError: LineWriter
    /// Whether flags or the environment turned on a log of requests. Then clients may see requests of other clients.
    private let isOfAll: Bool

    package init(level: LogSetting.Level = .warning) {
        standardError = LineWriter(2)
        state = Mutex(State(setting: LogSetting(level: level, target: .stderr)))
        isOfAll = level.rank <= LogSetting.Level.info.rank
    }

    /// The log as flags and the environment set it up. If the file cannot be written the log stays on stderr, with a
    /// warning.
    ///
    /// - Parameter path: the file to which the starter of the service led standard error; nil if there is none.
    package init(_ setting: LogSetting, replacing path: String? = nil) {
        standardError = LineWriter(2, replacing: path)
        state = Mutex(State(setting: setting))
        isOfAll = setting.target == .file || setting.level.rank <= LogSetting.Level.info.rank
        guard setting.target == .file else { return }
        do throws(RPCError) {
            let file = try open(setting.path)
            state.withLock { $0.file = file }
        } catch {
            state.withLock { $0.setting.target = .stderr }
            write(.warning, "the log goes to standard error: \(error.message)")
        }
    }

    /// Returns the previous setting.
    package func set(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting {
        let file = setting.target == .file ? try open(setting.path) : nil
        let client = isOfAll ? nil : peer.info.connection
        let (before, old) = state.withLock { state in
            defer {
                state.dropped += state.file?.dropped ?? 0
                if setting.target != .events {
                    state.before = nil
                } else if state.setting.target != .events {
                    state.before = (state.setting, state.client)
                }
                state.setting = setting
                state.file = file
                state.listener = setting.target == .events ? peer : nil
                state.client = client
            }
            return (state.setting, state.file)
        }
        old?.close()
        return before
    }

    /// The client has disconnected: if the log went to that client, the log goes where it went before.
    package func left(_ peer: any Peer) {
        let before = state.withLock { $0.listener === peer ? $0.before : nil }
        guard let before else { return }
        var setting = before.setting
        var file: LineWriter?
        var problem: String?
        if setting.target == .file {
            do throws(RPCError) {
                file = try open(setting.path)
            } catch {
                setting.target = .stderr
                problem = "the log goes to standard error: \(error.message)"
            }
        }
        let isBack = state.withLock { state in
            guard state.listener === peer else { return false }
            state.setting = setting
            state.client = before.client
            state.file = file
            state.listener = nil
            state.before = nil
            return true
        }
        if !isBack { file?.close() }
        if isBack, let problem { write(.warning, problem) }
    }

    private func open(_ path: String?) throws(RPCError) -> LineWriter {
        let data: JSONObject = ["pointer": .string("/path")]
        guard let path else { throw RPCError(.invalidParams, "path is needed for a log in a file", data: data) }
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_WRONLY | O_CREAT | O_APPEND, .own)
        } catch {
            throw RPCError(.invalidParams, "the log cannot be written to \(path.excerpt): \(error)", data: data)
        }
        if Self.isOfKernel(file) {
            close(file)
            throw RPCError(
                .invalidParams, "the log cannot be written to \(path.excerpt): the file is an interface of the kernel",
                data: data)
        }
        return LineWriter(file) { [weak self] problem in
            self?.standardError.write("outrider: error: the log file cannot be written: \(problem)\n") { _ in "" }
        }
    }

    /// Whether the file is in /proc or /sys, where files look regular, and a write changes a process or the system.
    private static func isOfKernel(_ file: CInt) -> Bool {
        var (info, root) = (stat(), stat())
        guard fstat(file, &info) == 0 else { return true }
        for path in ["/proc", "/sys"] where stat(path, &root) == 0 && root.st_dev == info.st_dev { return true }
        return false
    }

    package func isLogged(_ level: LogSetting.Level) -> Bool {
        state.withLock { level.rank >= $0.setting.level.rank }
    }

    package var takesLines: Bool { state.withLock { $0.setting.target != .events } }

    package var dropped: Int {
        let (sum, file) = state.withLock { ($0.dropped, $0.file) }
        return sum + (file?.dropped ?? 0) + standardError.dropped
    }

    package func write(_ level: LogSetting.Level, _ message: @autoclosure () -> String) {
        guard isLogged(level) else { return }
        write(Sentence(level: level, text: message()))
    }

    package func write(_ line: some LogLine) {
        let (setting, file, listener, number, client) = state.withLock { state in
            state.number &+= 1
            return (state.setting, state.file, state.listener, state.number, state.client)
        }
        guard line.level.rank >= setting.level.rank, client.map(line.scope.isShown) ?? true else { return }
        switch setting.target {
        case .stderr: standardError.write(Self.formatted(line, setting)) { Self.formatted(Self.gap($0), setting) }
        case .file: file?.write(Self.formatted(line, setting)) { Self.formatted(Self.gap($0), setting) }
        case .events:
            listener?.offer(
                Event("event.notice", Notice(level: line.level.rawValue, code: "log", message: line.text)),
                key: "log \(number)")
        }
    }

    /// Waits at most 200 ms for queued lines.
    package func flush() {
        state.withLock { $0.file }?.flush()
        standardError.flush()
    }

    private static func gap(_ count: Int) -> Sentence {
        Sentence(level: .warning, text: "\(count) log lines were dropped")
    }

    private static func formatted(_ line: some LogLine, _ setting: LogSetting) -> String {
        guard setting.format == .text else {
            return String(decoding: JSONWriter.bytes(of: Formatted(line: line, time: now())), as: UTF8.self) + "\n"
        }
        let text = line.text.printable
        return setting.target == .file
            ? "\(now()) \(line.level.rawValue): \(text)\n" : "outrider: \(line.level.rawValue): \(text)\n"
    }

    /// RFC 3339 in UTC, with milliseconds.
    private static func now() -> String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        gmtime_r(&time.tv_sec, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
        let seconds = String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(seconds).\(String(1000 + time.tv_nsec / 1_000_000 % 1000).dropFirst())Z"
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

/// A line without members of its own.
private struct Sentence: LogLine {
    var level: LogSetting.Level
    var text: String

    init(level: LogSetting.Level, text: String) {
        self.level = level
        self.text = Excerpt.sentence(text)
    }

    func encodeMembers(to writer: inout JSONWriter) {}
}

private struct Formatted<Line: LogLine>: JSONEncodable {
    var line: Line
    var time: String

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("time", time)
            writer.member("level", line.level.rawValue)
            writer.member("message", line.text)
            line.encodeMembers(to: &writer)
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
