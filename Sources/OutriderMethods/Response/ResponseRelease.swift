// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Forgets a kept body, and gives its memory or file back.
struct ResponseRelease: Method {
    static let name = "response.release"

    struct Params: JSONDecodable {
        var response: Handle<StoredResponse>

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let response: Handle<StoredResponse>? = try fields.optional("response")
            try fields.finish()
            self.response = try JSONFields.need("response", response)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let stored = try call.scope.handles.find(params.response, "response")
        call.scope.handles.remove(params.response)
        await stored.closed()
        let subject = MonitorSubject(owner: call.scope.owner)
        call.scope.service.monitors.tell(.responseReleased, subject) { .handle(stored.handle.name, size: nil) }
        return JSONNothing()
    }
}
