// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Shows a request as a curl command line that sends the same.
struct RequestCurl: Method {
    static let name = "request.curl"

    struct Params: JSONDecodable {
        var request: Handle<RequestRecord>
        var redaction: Redaction

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let request: Handle<RequestRecord>? = try fields.optional("request")
            redaction = try fields.optional("secrets") == true ? .none : .masked
            try fields.finish()
            self.request = try JSONFields.need("request", request)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let record = try call.scope.handles.find(params.request, "request")
        let redaction = try record.redaction(params.redaction, for: call.scope)
        switch record.exchange.shownRequest {
        case .success(let attempt):
            let follows = record.exchange.followsRedirects
            var shown = record.exchange.withCookies(attempt)
            if redaction == .masked { shown = await PlainBody.request(shown) }
            let command = await CurlCommand.made(of: shown, redaction, followsRedirects: follows)
            return ReplyMembers { writer in
                writer.member("command", command.text)
                writer.member("note", command.note)
            }
        case .failure(let failure):
            throw RPCError(
                .invalidParams, "the request could not be built: \(failure.message)",
                data: ["pointer": .string("/request")])
        }
    }
}

extension CurlCommand {
    /// Bytes of a request whose command is made on the event loop.
    private static let mostOnLoop: Int64 = 64 << 10

    /// The command; that of a long request is made away from the event loop.
    static func made(
        of attempt: Attempt, _ redaction: Redaction = .masked, followsRedirects: Bool
    ) async -> CurlCommand {
        let make = { @Sendable in CurlCommand(attempt, redaction, followsRedirects: followsRedirects) }
        // safe: an Int is an Int64
        let bytes = Int64(attempt.url.targetBytes) &+ (attempt.body.size ?? 0)
        return bytes > mostOnLoop ? await background(make) : make()
    }
}
