// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The records of the messages that a piece of input completes. Long payloads stay in the input, so that they can be
/// written from there.
package struct MessageRecords: Sendable {
    /// A payload that stays in the input.
    private struct Payload {
        /// The number of own bytes that go before the payload.
        var after: Int
        var place: Range<Int>
    }

    /// Shorter payloads are copied.
    private static let longBytes = 16 << 10

    /// The record of a message that began in earlier input, or its beginning; the first of all records.
    private var begun: [UInt8] = []
    /// Short records, and the heads of long ones.
    private var own: [UInt8] = []
    private var payloads: [Payload] = []
    /// Bytes of all records.
    package private(set) var count = 0

    package var isEmpty: Bool { count == 0 }

    // MARK: filling

    /// A message in a single piece.
    ///
    /// - Parameter place: of the payload within the input.
    mutating func append(_ kind: MessageRecord.Kind, _ input: UnsafeRawBufferPointer, _ place: Range<Int>) {
        count &+= MessageRecord.headBytes &+ place.count
        if place.count < Self.longBytes {
            if own.isEmpty { reserve(input.count &- place.lowerBound) }
            MessageRecord.append(kind, UnsafeRawBufferPointer(rebasing: input[place]), to: &own)
        } else {
            MessageRecord.appendHead(kind, place.count, to: &own)
            payloads.append(Payload(after: own.count, place: place))
        }
    }

    /// Whether the end of a message that began in earlier input can stay in the input.
    func leaves(_ count: Int) -> Bool { isEmpty && count >= Self.longBytes }

    /// A message that began in earlier input.
    ///
    /// - Parameter place: of the end of its payload within the input.
    mutating func append(begun record: [UInt8], _ place: Range<Int>) {
        begun = record
        payloads.append(Payload(after: 0, place: place))
        count = record.count &+ place.count
    }

    /// A record of its own bytes.
    mutating func append(_ record: [UInt8]) {
        if count == 0, record.count >= Self.longBytes {
            begun = record
        } else {
            own.append(contentsOf: record)
        }
        count &+= record.count
    }

    /// Makes room at once for all records that may be complete with so many bytes.
    private mutating func reserve(_ left: Int) {
        guard left >= Self.longBytes, left <= 256 << 10 else { return }
        own.reserveCapacity(left &+ left >> 4)
    }

    // MARK: reading

    /// All records, in order.
    package func bytes(in input: UnsafeRawBufferPointer) -> [UInt8] {
        if begun.isEmpty, payloads.isEmpty { return own }
        if begun.count == count { return begun }
        return withBuffers(in: input) { buffers in
            var all: [UInt8] = []
            all.reserveCapacity(count)
            for buffer in buffers { all.append(contentsOf: buffer) }
            return all
        }
    }

    /// The same bytes where they are.
    package func withBuffers<Value>(
        in input: UnsafeRawBufferPointer, _ body: ([UnsafeRawBufferPointer]) -> Value
    ) -> Value {
        begun.withUnsafeBytes { begun in
            own.withUnsafeBytes { own in
                var buffers: [UnsafeRawBufferPointer] = []
                buffers.reserveCapacity(2 &+ payloads.count &* 2)
                if !begun.isEmpty { buffers.append(begun) }
                var start = 0
                for payload in payloads {
                    buffers.append(UnsafeRawBufferPointer(rebasing: own[start..<payload.after]))
                    buffers.append(UnsafeRawBufferPointer(rebasing: input[payload.place]))
                    start = payload.after
                }
                if start < own.count { buffers.append(UnsafeRawBufferPointer(rebasing: own[start...])) }
                return body(buffers)
            }
        }
    }
}
