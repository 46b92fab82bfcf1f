// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Adds credit to a push stream. Also useful as a notification.
struct StreamCredit: Method {
    static let name = "stream.credit"

    struct Params: JSONDecodable {
        var stream: Handle<ReadStream>
        var bytes: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let stream = try fields.optional("stream", as: Handle<ReadStream>.self)
            let bytes = try fields.integer("bytes", in: 0...StreamMachine.creditLimit)
            try fields.finish()
            self.stream = try JSONFields.need("stream", stream)
            self.bytes = try JSONFields.need("bytes", bytes)
        }
    }

    struct Result: ObjectShape {
        var credit: Int

        func encodeMembers(to writer: inout JSONWriter) { writer.member("credit", credit) }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let stream = try call.scope.handles.find(params.stream, "stream")
        guard let credit = stream.grant(params.bytes) else {
            throw RPCError.wrongState("this stream is read with stream.read; credit is for mode \"push\"", "pull")
        }
        return Result(credit: credit)
    }
}
