// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Writes a kept body to a file that appears whole or not at all.
struct ResponseSave: Method {
    static let name = "response.save"

    struct Params: JSONDecodable {
        var response: Handle<StoredResponse>
        var path: String
        var replace: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let response: Handle<StoredResponse>? = try fields.optional("response")
            let path: String? = try fields.optional("path")
            replace = try fields.optional("replace") ?? false
            try fields.finish()
            self.response = try JSONFields.need("response", response)
            self.path = try JSONFields.need("path", path)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let body = try call.scope.handles.find(params.response, "response").body
        do throws(HTTPFailure) {
            try await body.save(to: params.path, replace: params.replace)
        } catch {
            throw RPCError(error)
        }
        return ReplyMembers { writer in
            writer.member("path", params.path)
            writer.member("size", body.size)
        }
    }
}
