// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Encodes a form without a request.
struct MultipartEncode: Method {
    static let name = "multipart.encode"

    private enum Place: String, CaseIterable, Sendable { case inline, file }

    struct Params: LongParams {
        var form: MultipartForm
        var destination: FormDestination

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let parts: [PartParameter]? = try fields.optional("parts")
            let boundary: String? = try fields.optional("boundary")
            let escaping: MultipartForm.Escaping? = try fields.choice("escape")
            let place: Place? = try fields.choice("to")
            let threshold = try fields.integer("threshold", in: 0...10_000_000) ?? 10_000_000
            let path: String? = try fields.optional("path")
            try fields.finish()
            form = MultipartParameter(try JSONFields.need("parts", parts), boundary, escaping).form
            if let path {
                destination = .path(path)
            } else {
                destination = place == .file ? .kept : .memory(most: threshold)
            }
        }
    }

    struct Result: LongResult {
        var form: MultipartForm
        var encoded: EncodedForm
        var response: Handle<StoredResponse>?

        var isLong: Bool {
            if case .memory(let bytes) = encoded.place { bytes.count > 64 << 10 } else { false }
        }

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("contentType", form.contentType)
                writer.member("boundary", form.boundary)
                writer.member("size", encoded.size)
                writer.member("contentLength", encoded.contentLength)
                switch encoded.place {
                case .memory(let bytes): bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
                case .path(let path): writer.member("path", path)
                case .kept(let body):
                    writer.member("path", body.path)
                    writer.member("response", response)
                }
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        var form = params.form
        try form.findStreams(in: call.scope.handles)
        let engine = call.scope.service.engine
        var destination = params.destination
        if case .memory(let most) = destination, let room = call.peer.terms.maxResultBytes {
            // base64 takes four bytes for three, and the other members some more
            destination = .memory(most: min(most, max(0, room - 512) / 4 * 3))
        }
        let encoded: EncodedForm
        do throws(HTTPFailure) {
            encoded = try await engine.encode(form, to: destination, quota: call.scope.quota)
        } catch {
            throw RPCError(error)
        }
        guard case .kept(let body) = encoded.place else { return Result(form: form, encoded: encoded) }
        let stored = StoredResponse(body, ResponseFacts(status: nil, fields: [.init("Content-Type", form.contentType)]))
        let handles = call.scope.handles
        try stored.keep(in: handles, engine)
        call.ifUnwanted {
            handles.remove(stored.handle)
            stored.close()
        }
        return Result(form: form, encoded: encoded, response: stored.handle)
    }
}
