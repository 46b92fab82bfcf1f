// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Cancels a request: calls that wait for it get a Response with failure 1900.
struct RequestCancel: Method {
    static let name = "request.cancel"

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        /// Keep the partial file of a download, with data for resuming.
        var keepsPartial: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            keepsPartial = try fields.optional("resumeData") ?? false
            try fields.finish()
            self.request = try JSONFields.need("request", request)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.request, "request")
        let exchange = record.exchange
        exchange.cancel(keepingPartial: params.keepsPartial)
        // only the end tells what was kept, and frees the path for the next download
        if exchange.isDownload { _ = await exchange.reached(.finish) }
        let state = exchange.snapshot.phase
        let mayResume = params.keepsPartial && record.isGiven(by: call.scope)
        let resumeData = mayResume ? exchange.outcome?.resumeData : nil
        return ReplyMembers { writer in
            writer.member("state", state.rawValue)
            writer.member("resumeData", resumeData)
        }
    }
}
