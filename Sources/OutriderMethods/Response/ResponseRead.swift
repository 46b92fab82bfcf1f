// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Reads a piece of a kept body.
struct ResponseRead: Method {
    static let name = "response.read"
    /// The bytes of the result beside the base64, at most.
    private static let otherMembers = 128

    struct Params: JSONDecodable {
        var response: Handle<StoredResponse>
        var offset: Int
        var bytes: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let response: Handle<StoredResponse>? = try fields.optional("response")
            offset = try fields.integer("offset", in: 0...9_007_199_254_740_992) ?? 0
            bytes = try fields.integer("bytes", in: 1...8_388_608) ?? 32768
            try fields.finish()
            self.response = try JSONFields.need("response", response)
        }
    }

    struct Piece: ObjectShape {
        var bytes: [UInt8]
        var offset: Int
        var size: Int
        /// Whether the bytes follow the reply.
        var isRaw: Bool

        var raw: [UInt8]? { isRaw ? bytes : nil }

        func encodeMembers(to writer: inout JSONWriter) {
            if !isRaw { bytes.withUnsafeBytes { writer.member("base64", base64: $0) } }
            writer.member("offset", offset)
            writer.member("end", offset >= size - bytes.count)
            writer.member("size", size)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONText {
        let body = try call.scope.handles.find(params.response, "response").body
        var count = params.bytes
        // a client that cannot read long messages gets shorter pieces
        let terms = call.peer.terms
        if let room = terms.maxResultBytes { count = min(count, max(1, (room - Self.otherMembers) / 4 * 3)) }
        let bytes: [UInt8]
        do throws(HTTPFailure) {
            bytes = try await body.read(at: params.offset, count: count)
        } catch {
            throw RPCError(.unknownHandle, error.message, data: ["pointer": .string("/response")])
        }
        let isRaw = bytes.count >= ResponseBodyShape.rawFrom && call.takesRaw(terms)
        let piece = Piece(bytes: bytes, offset: params.offset, size: body.size, isRaw: isRaw)
        if bytes.count <= 64 << 10 || isRaw { return JSONText(of: piece) }
        return await background { JSONText(of: piece) }
    }
}
