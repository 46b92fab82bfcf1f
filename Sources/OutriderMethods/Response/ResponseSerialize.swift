// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Converts an ended response into another shape, from the kept bytes or by repeating the request.
struct ResponseSerialize: Method {
    static let name = "response.serialize"

    struct Params: JSONDecodable {
        var source: ResponseSource
        var handler: ResponseRecipient
        var reperforms: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let source = try ResponseSource.read(&fields)
            let serialize: SerializeParameter? = try fields.optional("serialize")
            let validate: ValidateParameter? = try fields.optional("validate")
            reperforms = try fields.optional("reperform") ?? false
            try fields.finish()
            self.source = try JSONFields.need("response", source)
            handler = ResponseRecipient(
                id: "", serialize: serialize?.spec ?? SerializeSpec(), validation: validate?.validation)
            if reperforms, case .response = self.source {
                throw JSONComplaint(
                    "reperform goes with the handle of a request only", at: JSONPointer(member: "reperform"))
            }
        }
    }

    struct Reply: ObjectShape {
        /// The new request, if repeated.
        var request: Handle<RequestRecord>?
        var result: HandlerResult

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("ok", result.failure == nil)
            writer.member("request", request)
            writer.member("body", result.body)
            if let failure = result.failure { writer.member("error", FailureShape(failure)) }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        var source = params.source
        var again: RequestRecord?
        if params.reperforms, case .request(let handle) = source {
            let record = try await call.scope.handles.find(handle, "response").repeated(call)
            record.exchange.start()
            source = .request(record.handle)
            again = record
        }
        let found: ResponseSource.Found
        do throws(RPCError) {
            found = try await source.found(call)
        } catch {
            // no result will name the new request
            await again?.forget(by: call.scope)
            throw error
        }
        let work = ResponseWork(facts: found.facts, callbacks: found.callbacks)
        var result = Reply(
            request: again?.handle, result: await work.result(params.handler, found.body, failure: found.failure))
        let text = await background { [result] in JSONText(written: JSONWriter.bytes(of: result)) }
        guard let room = call.peer.terms.maxResultBytes, text.bytes.count > room else { return text }
        // an error would not name the new request
        guard again == nil else {
            result.result = HandlerResult(
                id: "", failure: HTTPFailure(.limitExceeded, Self.tooLong(source), sent: .sent))
            return JSONText(written: JSONWriter.bytes(of: result))
        }
        throw RPCError(
            .wrongState, Self.tooLong(source),
            data: ["pointer": .string("/serialize"), "state": .string("tooLong")])
    }

    private static func tooLong(_ source: ResponseSource) -> String {
        let remedy =
            switch source {
            case .response: "read it with response.read"
            case .request: "request.wait gives a handle for response.read"
            }
        return "the body in this shape is longer than maxMessageBytes allows: \(remedy)"
    }
}
