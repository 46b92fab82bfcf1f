// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON
import OutriderRPC
import Synchronization

/// Where log lines go. A line that cannot be written at once is dropped and counted: some clients never read our
/// standard error, and the service must not wait for them.
final class LogSink: Sendable {
    private struct State {
        var setting: LogSetting
        var file: Int32 = STDERR_FILENO
        var dropped = 0
        var written = 0
        weak var peer: (any Peer)?
    }

    /// The most bytes of a line: what a pipe takes at once (PIPE_BUF).
    private static let lineBytes = 4096

    private let state: Mutex<State>

    init(level: LogSetting.Level) {
        state = Mutex(State(setting: LogSetting(level: level, target: .stderr)))
    }

    var setting: LogSetting { state.withLock { $0.setting } }

    /// Returns the setting before.
    func set(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting {
        var file = STDERR_FILENO
        if setting.target == .file {
            file = open(setting.path ?? "", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard file >= 0 else {
                throw RPCError(
                    .invalidParams, "path cannot be opened: \(systemError(errno))", data: ["pointer": .string("/path")])
            }
        }
        let (before, old) = state.withLock { state in
            let before = (state.setting, state.file)
            state.setting = setting
            state.file = file
            state.peer = setting.target == .events ? peer : nil
            return before
        }
        if old != STDERR_FILENO { close(old) }
        return before
    }

    func write(_ level: LogSetting.Level, _ message: String) {
        let peer = state.withLock { state -> (any Peer, Int)? in
            guard let peer = state.peer else {
                Self.write(level, message, &state)
                return nil
            }
            state.written += 1
            return (peer, state.written)
        }
        guard let (peer, number) = peer else { return }
        peer.offer(Event("event.notice", Notice(level: level, message: message)), key: "log \(number)")
    }

    /// Holds the lock, so that lines do not mix; never blocks.
    private static func write(_ level: LogSetting.Level, _ message: String, _ state: inout State) {
        var ready = pollfd(fd: state.file, events: Int16(POLLOUT), revents: 0)
        guard poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else {
            state.dropped += 1
            return
        }
        let lost = state.dropped > 0 ? " (\(state.dropped) lines before this one were dropped)" : ""
        state.dropped = 0
        let oneLine = message.split(whereSeparator: \.isNewline).joined(separator: " | ")
        let line = Array("\(timestamp()) \(level.rawValue) \(oneLine)\(lost)".utf8.prefix(lineBytes - 1)) + [0x0A]
        _ = line.withUnsafeBytes { Glibc.write(state.file, $0.baseAddress, $0.count) }
    }

    private static func timestamp() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
