// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Opens a stream of a given length, to test reading and credit.
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

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let hub = StreamFanout(call.peer)
        let stream = try hub.open(ByteItems(), as: .bytes, params.mode, in: call)
        let size = params.bytes
        call.afterReply {
            hub.release()
            // Ends with the stream, which ends with its connection at the latest.
            let task = Task { await produce(size, hub) }
            hub.whenUnwanted { _ in task.cancel() }
        }
        return ReplyMembers { writer in
            writer.member("stream", stream.handle)
            writer.member("size", size)
            writer.member("chunkBytes", StreamMachine.chunkBytes)
        }
    }

    /// So many bytes, from `a` to `z` and again.
    private static func produce(_ size: Int, _ hub: StreamFanout) async {
        do throws(HTTPFailure) {
            try hub.begin(contentType: nil, size: size)
            var given = 0
            while given < size {
                let count = min(StreamMachine.chunkBytes, size - given)
                let bytes = (given..<given + count).map { UInt8(ascii: "a") + UInt8(truncatingIfNeeded: $0 % 26) }
                try await hub.take(bytes)
                given += count
            }
            try await hub.bodyEnded()
            await hub.end(nil)
        } catch {
            await hub.end(error)
        }
    }
}
