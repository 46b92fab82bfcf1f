// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Level, target and format of the log.
package struct LogSetting: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable { case trace, debug, info, notice, warning, error, critical }
    package enum Target: String, Sendable, CaseIterable { case stderr, file, events }
    /// Text for people, or a JSON object per line.
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

/// The subject of a log line.
package enum LogScope: Sendable, Equatable {
    case service
    /// A request or another thing of the connection with that name; nil if its connection is gone.
    case connection(String?)

    /// Whether the line may be shown in a log that this client turned on.
    package func isShown(to client: String) -> Bool { self == .service || self == .connection(client) }
}

/// A log line with members of its own beside the sentence.
package protocol LogLine: Sendable {
    var level: LogSetting.Level { get }
    var scope: LogScope { get }
    /// For people.
    var text: String { get }
    /// Members for programs, beside `time`, `level` and `message`.
    func encodeMembers(to writer: inout JSONWriter)
}

extension LogLine {
    package var scope: LogScope { .service }
}

/// The destination of log lines. Never blocks.
package protocol LogOutlet: AnyObject, Sendable {
    func isLogged(_ level: LogSetting.Level) -> Bool

    /// Whether lines of every client may be written here: false if the log goes to a single client.
    var takesLines: Bool { get }

    /// Lines dropped for lack of room since the start.
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
