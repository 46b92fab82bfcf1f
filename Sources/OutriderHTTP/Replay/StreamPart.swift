// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A part of a stream that is masked as a whole: a line, or the lines of data of an event, whose JSON may take several.
struct StreamPart {
    private static let types = ["event-stream", "x-ndjson", "ndjson", "jsonl", "x-jsonlines", "json-seq"]
    private static let data = Array("data:".utf8)
    private static let newline = UInt8(ascii: "\n")
    /// Bytes of the lines of data that are taken together.
    private static let longest = 64 << 10

    /// Without the field name of an event, and without the separator of RFC 7464.
    let json: [UInt8]
    private let mark: [UInt8]

    init(_ bytes: [UInt8]) {
        if bytes.starts(with: Self.data) {
            mark = Self.data + [0x20]
            let lines = bytes.split(separator: Self.newline, omittingEmptySubsequences: false)
            let values = lines.map { $0.starts(with: Self.data) ? $0.dropFirst(Self.data.count) : $0 }
            json = Array(values.joined(separator: [Self.newline]))
        } else {
            let count = bytes.first == 0x1E ? 1 : 0
            mark = Array(bytes.prefix(count))
            json = Array(bytes.dropFirst(count))
        }
    }

    /// The part with other JSON, on one line.
    func with(_ json: [UInt8]) -> [UInt8] { mark + json + (self.json.last == 0x0D ? [0x0D] : []) }

    /// Whether a body of that type is a stream of JSON.
    static func isStream(_ type: MediaType) -> Bool { types.contains(type.subtype) }

    static func isEvents(_ type: MediaType?) -> Bool { type?.subtype == "event-stream" }

    /// The place behind the part that begins at `start`, and behind its line break.
    static func end(in body: [UInt8], from start: Int, isEvents: Bool) -> Int {
        var end = endOfLine(in: body, from: start)
        guard isEvents, body[start...].starts(with: data) else { return end }
        while end < body.count, end - start < longest, body[end...].starts(with: data) {
            end = endOfLine(in: body, from: end)
        }
        return end
    }

    private static func endOfLine(in body: [UInt8], from start: Int) -> Int {
        body[start...].firstIndex(of: newline).map { $0 + 1 } ?? body.count
    }
}
