// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Logging
import OutriderRPC

/// Log lines to standard error, a file, or a client; never to standard output, which belongs to the protocol.
struct StderrLog: LogHandler {
    let sink: LogSink
    var metadata: Logger.Metadata = [:]

    init(_ sink: LogSink) { self.sink = sink }

    /// The service's, which `server.setLog` changes for all.
    var logLevel: Logger.Level {
        get { Logger.Level(rawValue: sink.setting.level.rawValue) ?? .warning }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let facts = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let level = LogSetting.Level(rawValue: event.level.rawValue) ?? .error
        sink.write(level, "\(event.message)\(facts)")
    }
}
