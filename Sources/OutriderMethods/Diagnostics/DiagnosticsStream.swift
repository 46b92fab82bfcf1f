// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Synchronization

/// Opens a stream of a given length, to try reading and credit.
struct DiagnosticsStream: Method {
    static let name = "diagnostics.stream"

    struct Params: JSONDecodable {
        var bytes: Int
        var mode: StreamMachine.Mode

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let bytes = try fields.integer("bytes", in: 0...1_073_741_824)
            mode = try StreamMachine.Mode(&fields)
            try fields.finish()
            self.bytes = try JSONFields.need("bytes", bytes)
        }
    }

    struct Result: JSONEncodable {
        var stream: Handle<ByteStream>
        var size: Int

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("stream", stream)
                writer.member("size", size)
                writer.member("chunkBytes", StreamMachine.chunkBytes)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let stream = try ByteStream.open(Alphabet(size: params.bytes), params.mode, in: call)
        return Result(stream: stream, size: params.bytes)
    }
}

/// So many bytes, from `a` to `z` and again.
private final class Alphabet: ByteSource {
    let size: Int?
    private let given = Mutex(0)

    init(size: Int) { self.size = size }

    func next() async throws(StreamFailure) -> [UInt8]? {
        let (start, count) = given.withLock { given in
            let start = given
            let count = min(StreamMachine.chunkBytes, (size ?? 0) - start)
            given += count
            return (start, count)
        }
        guard count > 0 else { return nil }
        return (start..<start + count).map { UInt8(ascii: "a") + UInt8(truncatingIfNeeded: $0 % 26) }
    }
}
