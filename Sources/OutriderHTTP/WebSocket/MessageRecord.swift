// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A message between the machine and its takers: kind (1 byte), length (4 bytes, highest first), payload.
///
/// The side channel of `stream.attach` carries the same records in both directions.
package enum MessageRecord {
    package enum Kind: UInt8, Sendable {
        case text = 1
        case binary = 2
        /// A JSON object.
        case control = 3
    }

    /// Bytes before the payload.
    package static let headBytes = 5

    /// Appends a record. Payloads are bounded by `maxMessage`, so that four bytes hold their length.
    package static func append(_ kind: Kind, _ payload: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        appendHead(kind, payload.count, to: &output)
        output.append(contentsOf: payload)
    }

    package static func append(_ kind: Kind, _ payload: [UInt8], to output: inout [UInt8]) {
        appendHead(kind, payload.count, to: &output)
        output.append(contentsOf: payload)
    }

    private static func appendHead(_ kind: Kind, _ count: Int, to output: inout [UInt8]) {
        output.append(kind.rawValue)
        let length = UInt32(clamping: count)
        for shift in [24, 16, 8, 0] as [UInt32] { output.append(UInt8(truncatingIfNeeded: length >> shift)) }
    }

    /// The kind and the length in the five bytes of a head; the kind is nil if there is no such kind.
    package static func head(_ bytes: some RandomAccessCollection<UInt8>) -> (kind: Kind?, length: Int) {
        var length = 0
        for byte in bytes.dropFirst().prefix(4) { length = length << 8 | Int(byte) }
        return (bytes.first.flatMap(Kind.init(rawValue:)), length)
    }
}

/// Finds records in bytes that come in pieces.
package struct MessageRecordScanner: Sendable {
    package struct Record: Sendable, Equatable {
        package var kind: MessageRecord.Kind
        package var payload: [UInt8]
    }

    private var bytes: [UInt8] = []
    private var start = 0
    private let longest: Int

    /// - Parameter longest: bytes of a payload at most; a longer one is a fault with code 1009.
    package init(longest: Int) { self.longest = longest }

    package mutating func feed(_ more: [UInt8]) {
        if start == bytes.count {
            bytes = more
        } else {
            if start > 0 { bytes.removeFirst(start) }
            bytes.append(contentsOf: more)
        }
        start = 0
    }

    /// The next record; nil if more bytes are needed.
    package mutating func next() throws(WebSocketFault) -> Record? {
        guard bytes.count &- start >= MessageRecord.headBytes else { return nil }
        let (kind, length) = MessageRecord.head(bytes[start...])
        guard let kind else { throw WebSocketFault(CloseCode.invalidPayload, "a record has an unknown kind") }
        guard length <= longest else { throw .tooBig(longest) }
        let payload = start &+ MessageRecord.headBytes
        guard bytes.count &- payload >= length else { return nil }
        start = payload &+ length
        return Record(kind: kind, payload: Array(bytes[payload..<start]))
    }
}
