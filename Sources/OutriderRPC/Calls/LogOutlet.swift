// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// How much is logged, where to, and how a line looks.
package struct LogSetting: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info, notice, warning, error, critical }
    package enum Target: String, Sendable, CaseIterable { case stderr, file, events }
    /// For people, or one JSON object per line.
    package enum Format: String, Sendable, CaseIterable { case text, json }

    package var level: Level
    package var target: Target
    package var format: Format
    package var path: String?

    package init(level: Level, target: Target, format: Format = .text, path: String? = nil) {
        self.level = level
        self.target = target
        self.format = format
        self.path = path
    }
}

/// What a line of the log is about.
package enum LogScope: Sendable, Equatable {
    case service
    /// A request or another thing of the connection with that name; nil if no connection owns the thing any more.
    case connection(String?)

    /// Whether a log that one client turned on may show the line.
    package func isShown(to client: String) -> Bool { self == .service || self == .connection(client) }
}

/// A line of the log that has more to say than a sentence.
package protocol LogLine: Sendable {
    var level: LogSetting.Level { get }
    var scope: LogScope { get }
    /// For people.
    var text: String { get }
    /// For programs, beside `time`, `level` and `message`.
    func encodeMembers(to writer: inout JSONWriter)
}

extension LogLine {
    package var scope: LogScope { .service }
}

/// Where lines of the log go. Never blocks, whatever becomes of them.
package protocol LogOutlet: AnyObject, Sendable {
    func isLogged(_ level: LogSetting.Level) -> Bool

    /// Whether it goes where everything may be seen: not to a single client.
    var takesLines: Bool { get }

    /// Lines that there was no room for, since the start.
    var dropped: Int { get }

    func write(_ line: some LogLine)
}

/// Logs nothing.
package final class NoLog: LogOutlet {
    package let takesLines = false
    package let dropped = 0

    package init() {}

    package func isLogged(_ level: LogSetting.Level) -> Bool { false }

    package func write(_ line: some LogLine) {}
}
