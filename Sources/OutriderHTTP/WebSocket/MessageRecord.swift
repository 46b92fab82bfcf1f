// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A message between the machine and the recipients: kind (1 byte), length (4 bytes, highest first), payload.
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
    /// The longest payload from a client, in bytes.
    package static let longest = 64 << 20

    /// Appends a record. Payloads are bounded by `maxMessage`, so that four bytes hold their length.
    package static func append(_ kind: Kind, _ payload: UnsafeRawBufferPointer, to output: inout [UInt8]) {
        appendHead(kind, payload.count, to: &output)
        output.append(contentsOf: payload)
    }

    package static func append(_ kind: Kind, _ payload: [UInt8], to output: inout [UInt8]) {
        appendHead(kind, payload.count, to: &output)
        output.append(contentsOf: payload)
    }

    /// Writes the head of a record into its first five bytes.
    ///
    /// - Parameter left: bytes of the payload that follow elsewhere.
    static func seal(_ kind: Kind, _ record: inout [UInt8], left: Int = 0) {
        guard record.count >= headBytes else { return }
        let length = UInt32(clamping: record.count &- headBytes &+ left)
        record[0] = kind.rawValue
        for index in 1...4 { record[index] = UInt8(truncatingIfNeeded: length >> UInt32(8 &* (4 &- index))) }
    }

    static func appendHead(_ kind: Kind, _ count: Int, to output: inout [UInt8]) {
        let length = UInt32(clamping: count)
        output.append(kind.rawValue)
        output.append(UInt8(truncatingIfNeeded: length >> 24))
        output.append(UInt8(truncatingIfNeeded: length >> 16))
        output.append(UInt8(truncatingIfNeeded: length >> 8))
        output.append(UInt8(truncatingIfNeeded: length))
    }

    /// The kind and the length in the five bytes of a head; the kind is nil if unknown.
    package static func head(_ bytes: ArraySlice<UInt8>) -> (kind: Kind?, length: Int) {
        let start = bytes.startIndex
        guard bytes.count >= headBytes else { return (nil, 0) }
        let high = Int(bytes[start &+ 1]) << 24 | Int(bytes[start &+ 2]) << 16
        return (Kind(rawValue: bytes[start]), high | Int(bytes[start &+ 3]) << 8 | Int(bytes[start &+ 4]))
    }

    /// The bytes of the first record, head and payload.
    package static func size(_ bytes: ArraySlice<UInt8>) -> Int { headBytes + head(bytes).length }
}

/// Finds records in bytes that arrive in pieces.
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

    /// The kind and the length of the next record, whose payload may be still to come; nil if its head is.
    package func head() throws(WebSocketFault) -> (kind: MessageRecord.Kind, length: Int)? {
        guard bytes.count &- start >= MessageRecord.headBytes else { return nil }
        let (kind, length) = MessageRecord.head(bytes[start...])
        guard let kind else { throw WebSocketFault(CloseCode.invalidPayload, "a record has an unknown kind") }
        guard length <= longest else {
            throw WebSocketFault(CloseCode.messageTooBig, "a record is longer than \(longest) bytes")
        }
        return (kind, length)
    }

    /// The next record; nil if more bytes are needed.
    package mutating func next() throws(WebSocketFault) -> Record? {
        guard let (kind, length) = try head() else { return nil }
        let payload = start &+ MessageRecord.headBytes
        guard bytes.count &- payload >= length else { return nil }
        start = payload &+ length
        return Record(kind: kind, payload: Array(bytes[payload..<start]))
    }
}
