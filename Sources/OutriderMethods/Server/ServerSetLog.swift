// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Sets the level and destination of the log; returns the former ones.
struct ServerSetLog: Method {
    static let name = "server.setLog"

    struct Params: JSONDecodable {
        var setting: LogSetting

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let level = try fields.choice("level", of: LogSetting.Level.self)
            let target = try fields.choice("to", of: LogSetting.Target.self) ?? .stderr
            let format = try fields.choice("format", of: LogSetting.Format.self) ?? .text
            let path = try fields.optional("path", as: String.self) { path in
                path.hasPrefix("/") ? nil : "must be an absolute path"
            }
            try fields.finish()
            if target == .file, path == nil {
                throw JSONComplaint("path is required with \"file\"", at: JSONPointer(member: "path"))
            }
            if target != .file, path != nil {
                throw JSONComplaint(
                    "to must be \"file\" with path: write \"to\": \"file\", or leave path out",
                    at: JSONPointer(member: "to"))
            }
            setting = LogSetting(
                level: try JSONFields.need("level", level), target: target, format: format, path: path)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        // opening a file may take long
        let (control, peer, setting) = (call.scope.control, call.peer, params.setting)
        let set = try await offLoop(for: call.scope.quota.client) { () throws(HTTPFailure) in
            Swift.Result { () throws(RPCError) in try control.setLog(setting, for: peer) }
        }
        let before = try set.get()
        call.scope.service.monitors.logChanged()
        return ReplyMembers { writer in
            writer.member("level", before.level.rawValue)
            writer.member("to", before.target.rawValue)
            writer.member("format", before.format.rawValue)
            writer.member("path", before.path)
        }
    }
}
