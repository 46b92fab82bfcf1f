// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Returns a text of a given length, to test the message limits of a client.
struct DiagnosticsBlob: Method {
    static let name = "diagnostics.blob"

    struct Params: JSONDecodable {
        var bytes: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let bytes = try fields.integer("bytes", in: 0...8_388_608)
            try fields.finish()
            self.bytes = try JSONFields.need("bytes", bytes)
        }
    }

    struct Result: LongResult {
        var bytes: Int

        var isLong: Bool { bytes > 64 << 10 }

        func encode(to writer: inout JSONWriter) {
            let data = String(decoding: [UInt8](repeating: UInt8(ascii: "x"), count: bytes), as: UTF8.self)
            writer.object { $0.member("data", data) }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        Result(bytes: params.bytes)
    }
}
