// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Greets the service as a language server, so that editors' LSP clients can drive it (LSP 3.17, `initialize`).
struct Initialize: Method {
    static let name = "initialize"

    /// An editor sends many other members, which are ignored.
    struct Params: JSONDecodable {
        var processID: Int?
        /// True with `protocolVersion`, which only MCP's `initialize` has.
        var isMCP: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            processID = try fields.integer("processId", in: 0...Int(Int32.max))
            isMCP = fields.value("protocolVersion") != nil
        }
    }

    struct Result: ObjectShape {
        var greeting: Greeting

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("capabilities") { writer in
                writer.member("experimental") { $0.member("outrider", greeting) }
            }
            writer.member("serverInfo", greeting.server)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        if params.isMCP {
            throw RPCError(
                .methodNotFound,
                "this is no MCP server: outrider takes plain JSON-RPC calls (see rpc.discover), or LSP's initialize",
                data: ["method": .string(name)])
        }
        if let processID = params.processID, processID > 0, call.peer.info.transport == .stdio {
            call.scope.control.end(withProcess: processID)
        }
        return Result(greeting: Greeting(call))
    }
}
