// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows a request and its result as text for people.
struct RequestDescribe: Method {
    static let name = "request.describe"

    enum Style: String, Sendable, CaseIterable { case short, debug }

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        var style: Style
        var redaction: Redaction

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            style = try fields.choice("style") ?? .debug
            redaction = try fields.optional("secrets") == true ? .none : .masked
            try fields.finish()
            self.request = try JSONFields.need("request", request)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.request, "request")
        let redaction = try record.redaction(params.redaction, for: call.scope)
        switch params.style {
        case .short:
            let line = ExchangeDescription.line(await record.facts(bodyBytes: 0), redaction)
            return ReplyMembers { $0.member("text", line) }
        case .debug:
            let facts = await record.facts(bodyBytes: ExchangeDescription.longestBody)
            let text = await background {
                var mask = ShownMask(redaction)
                mask.learn([facts])
                return mask.text(ExchangeDescription.text(facts, redaction))
            }
            return ReplyMembers { $0.member("text", text) }
        }
    }
}
