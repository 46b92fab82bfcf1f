// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// StreamOptions of the contract: the kind of items, and whether the client reads or the service pushes.
struct StreamOptions: JSONDecodable {
    enum Kind: String, Sendable, CaseIterable { case bytes, text, lines, json, ndjson, frames }

    var kind = Kind.bytes
    var mode = StreamMachine.Mode.pull
    var isBatched = false
    private var charset: String?
    private var longest = StreamItem.defaultLongest
    private var prefix = FrameItems.Prefix.uint32

    init() {}

    init(json: JSONValue) throws(JSONComplaint) {
        // JSONFields accepts an empty array as an object, which a list of streams must not contain
        guard json.array == nil else { throw JSONComplaint("must be an object, not an array") }
        var fields = try JSONFields(json)
        try self.init(&fields)
        try fields.finish()
    }

    /// Reads the options among other members. Options of other kinds are read, and ignored.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        try self.init(reading: &fields)
        mode = try StreamMachine.Mode(&fields)
        isBatched = try fields.optional("batch") ?? false
    }

    /// Reads only the options for items.
    init(reading fields: inout JSONFields) throws(JSONComplaint) {
        kind = try fields.choice("as") ?? .bytes
        charset = try fields.optional("charset")
        longest = try fields.integer("maxItem", in: 1...16_777_216) ?? StreamItem.defaultLongest
        prefix = try fields.choice("prefix") ?? .uint32
    }

    /// Throws `tooMany`.
    func open(_ hub: StreamFanout, _ call: Call<ClientScope>) throws(RPCError) -> ReadStream {
        let isContinuous = kind == .bytes || kind == .text
        return try hub.open(scanner, as: look, mode, isBatched: isBatched && !isContinuous, in: call)
    }

    /// Equal for equal options.
    var name: String { "\(kind.rawValue) \(charset ?? "") \(longest) \(prefix.rawValue)" }

    var scanner: any ItemScanner {
        switch kind {
        case .bytes: ByteItems()
        case .text: TextItems(charset: charset, longest: longest)
        case .lines: LineItems(.text(charset: charset), longest: longest)
        case .json: JSONItems(longest: longest)
        case .ndjson: LineItems(.json, longest: longest)
        case .frames: FrameItems(prefix, longest: longest)
        }
    }

    var look: ItemLook {
        switch kind {
        case .bytes: .bytes
        case .text: .text
        case .lines: .lines
        case .json, .ndjson: .values
        case .frames: .frames
        }
    }
}
