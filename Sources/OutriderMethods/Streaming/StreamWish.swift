// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// A StreamOptions of the contract: what a stream shall consist of, and who decides when it flows.
struct StreamWish: JSONDecodable {
    enum Kind: String, Sendable, CaseIterable { case bytes }

    var kind = Kind.bytes
    var mode = StreamMachine.Mode.pull
    var isBatched = false

    init() {}

    init(json: JSONValue) throws(JSONComplaint) {
        // in a list, an empty list is no object: nothing else could be meant by it
        guard json.array == nil else { throw JSONComplaint("must be an object, not an array") }
        var fields = try JSONFields(json)
        try self.init(&fields)
        try fields.finish()
    }

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        kind = try fields.choice("as") ?? .bytes
        mode = try StreamMachine.Mode(&fields)
        isBatched = try fields.optional("batch") ?? false
    }

    /// Throws `tooMany`.
    func open(_ hub: StreamHub, _ call: Call<ClientScope>) throws(RPCError) -> ReadStream {
        switch kind {
        case .bytes: try hub.open(ByteItems(), as: .bytes, mode, in: call)
        }
    }
}
