// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The body of a response, piece by piece, wherever the service keeps it.
struct ResponseBody {
    /// Bytes asked for at once; base64 makes it a third more.
    private static let pieceBytes = 1 << 20

    let contentType: String?
    private var inline: [UInt8]?
    private let handle: String?
    private var offset: Int64 = 0
    private var isAtEnd = false

    init(_ body: JSONObject) {
        contentType = body["contentType"]?.string
        handle = body["response"]?.string
        inline = body["base64"]?.string.flatMap { Base64.decode($0) } ?? body["text"]?.string.map { Array($0.utf8) }
    }

    /// Nil at the end.
    mutating func next(from client: inout ServiceClient) throws(CommandFailure) -> [UInt8]? {
        if let handle { return try read(handle, from: &client) }
        defer { inline = nil }
        return inline
    }

    private mutating func read(_ handle: String, from client: inout ServiceClient) throws(CommandFailure) -> [UInt8]? {
        if isAtEnd { return nil }
        let params: JSONObject = [
            "response": .string(handle), "offset": .integer(offset), "bytes": .integer(Int64(Self.pieceBytes)),
        ]
        let text = JSONText(written: JSONWriter.bytes(of: params))
        let reply = try client.call("response.read", text, by: Deadline(after: 60))
        let piece = try reply.parsed().object
        guard reply.error == nil, let bytes = piece?["base64"]?.string.flatMap({ Base64.decode($0) }) else {
            throw CommandFailure(.error, piece?["message"]?.string ?? "the body cannot be read")
        }
        isAtEnd = piece?["end"] == .bool(true) || bytes.isEmpty
        offset += Int64(bytes.count)
        return bytes
    }
}
