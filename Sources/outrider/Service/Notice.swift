// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// `event.notice`: what the service has to say about itself.
struct Notice: JSONEncodable, Sendable {
    var level: LogSetting.Level
    var code = "log"
    var message: String

    func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("level", level.rawValue)
            writer.member("code", code)
            writer.member("message", message)
        }
    }
}
