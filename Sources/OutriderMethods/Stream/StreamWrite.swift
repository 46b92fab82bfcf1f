// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Writes the next bytes of a body.
struct StreamWrite: Method {
    static let name = "stream.write"

    struct Params: JSONDecodable {
        var stream: Handle<UploadStream>
        var bytes: [UInt8]
        /// Seconds.
        var wait: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<UploadStream>.self)
            let text: String? = try fields.optional("text")
            let base64: String? = try fields.optional("base64")
            wait = try fields.number("wait", in: 0...600) ?? 30
            try fields.finish()
            bytes = Array((text ?? "").utf8)
            if let base64 { bytes += try Base64Parameter.bytes(base64) }
            self.stream = try JSONFields.need("stream", stream)
        }
    }

    struct Result: ObjectShape {
        var accepted: Int
        var room: Int

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("accepted", accepted)
            writer.member("room", room)
        }
    }

    static func call(_ params: consuming Params, _ call: Call<ClientScope>) async throws -> Result {
        let stream = try call.scope.handles.writing(params.stream)
        let (count, wait) = (params.bytes.count, Duration.seconds(params.wait))
        // the bytes may go to a file: this call does not hold on to them
        let refusal = stream.take((consume params).bytes, memory: call.scope.memory, message: call.charge)
        switch refusal {
        case nil: return Result(accepted: count, room: try await stream.room(wait))
        case .room(let room): return Result(accepted: count, room: room)
        case .wrongState(let text): throw RPCError.wrongState(text, "closed")
        case .failed(let failure): throw RPCError.wrongState(failure, "closed")
        case .tooMuch:
            throw RPCError(
                .tooMany, "too many bytes wait to be sent: wait for the results of earlier writes",
                data: ["limit": .integer(Int64(UploadStream.limit)), "what": .string("streamBytes")])
        }
    }
}
