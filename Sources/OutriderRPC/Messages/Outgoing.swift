// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An outgoing message: the bytes before the result, the result's own bytes, the bytes after. The result is not copied
/// until it is written to the wire.
package struct OutgoingFrame: Sendable {
    package private(set) var head: [UInt8]
    package private(set) var body: [UInt8]
    /// The body in place of `body`, if it is long.
    package private(set) var long: LongBody?
    package private(set) var tail: StaticString
    package var count: Int { head.count + body.count + (long?.count ?? 0) + tail.utf8CodeUnitCount }

    /// Length of the JSON text without framing, and of the raw bytes that follow.
    package let messageBytes: Int

    /// An object; without framing it is a reply in a batch.
    init(head: [UInt8], body: [UInt8], framing: Framing?) {
        messageBytes = head.count + body.count + 1
        self.body = body
        self.head = framing == .header ? Self.lengthField(messageBytes) + head : head
        tail = framing == .line ? "}\n" : "}"
    }

    /// A reply whose `raw` bytes follow the frame of its text. The member before all others announces how many.
    init(head: [UInt8], text: [UInt8], raw: [UInt8], framing: Framing) {
        var start: [UInt8] = []
        start.reserveCapacity(head.count &+ text.count &+ 64)
        start.append("{\"raw\":")
        start.append(decimal: Int64(raw.count))  // safe: an Int is an Int64
        start.append(",")
        start += head.dropFirst()
        start += text
        start.append("}")
        messageBytes = start.count + raw.count
        self.head = framing == .header ? Self.lengthField(start.count) + start : start
        if framing == .line { self.head.append("\n") }
        body = raw
        tail = ""
    }

    private static func lengthField(_ count: Int) -> [UInt8] { Array("Content-Length: \(count)\r\n\r\n".utf8) }

    /// The frames of an array of replies without framing, which leave one directly after the other. At least one.
    package static func batch(_ replies: [OutgoingFrame], _ framing: Framing) -> [OutgoingFrame] {
        var frames = replies
        for index in frames.indices { frames[index].head.insert(UInt8(ascii: index == 0 ? "[" : ","), at: 0) }
        frames[frames.count - 1].tail = framing == .line ? "}]\n" : "}]"
        if framing == .header {
            let length = frames.reduce(0) { $0 + $1.count }
            frames[0].head = lengthField(length) + frames[0].head
        }
        return frames
    }

    /// Makes a long body one that can go to a file; nil for a short body.
    package mutating func lengthen() -> LongBody? {
        guard body.count > LongBody.counted else { return nil }
        let long = LongBody(body)
        body = []
        self.long = long
        return long
    }

    /// All bytes of a frame without a long body, in a single array.
    package var bytes: [UInt8] {
        var bytes = head
        bytes.reserveCapacity(count)
        bytes.append(contentsOf: body)
        bytes.append(contentsOf: UnsafeBufferPointer(start: tail.utf8Start, count: tail.utf8CodeUnitCount))
        return bytes
    }
}

/// Bytes of an outgoing message that are written together.
package struct OutgoingPiece: Sendable {
    package let frame: OutgoingFrame
    /// Where the bytes stand in the frame.
    package let range: Range<Int>

    /// Whether the message ends with these bytes.
    package var isLast: Bool { range.upperBound == frame.count }

    /// Which bytes of the body belong to the piece.
    package var bodyRange: Range<Int> {
        let start = frame.head.count
        let own = range.clamped(to: start..<frame.count - frame.tail.utf8CodeUnitCount)
        return own.lowerBound - start..<own.upperBound - start
    }

    /// Passes the bytes of a frame without a long body to `write`, part by part.
    package func forEach(_ write: (UnsafeBufferPointer<UInt8>) -> Void) { forEach(body: frame.body, from: 0, write) }

    /// The same with a long body.
    ///
    /// - Parameters:
    ///   - body: bytes of the body, those of `bodyRange` among them.
    ///   - offset: where in the body they begin.
    package func forEach(body: [UInt8], from offset: Int, _ write: (UnsafeBufferPointer<UInt8>) -> Void) {
        var start = 0
        func part(_ bytes: UnsafeBufferPointer<UInt8>) {
            let own = range.clamped(to: start..<start + bytes.count)
            let part = own.lowerBound - start..<own.upperBound - start
            if !own.isEmpty { write(UnsafeBufferPointer(rebasing: bytes[part])) }
            start += bytes.count
        }
        frame.head.withUnsafeBufferPointer(part)
        start += offset
        body.withUnsafeBufferPointer(part)
        start = frame.count - frame.tail.utf8CodeUnitCount
        part(UnsafeBufferPointer(start: frame.tail.utf8Start, count: frame.tail.utf8CodeUnitCount))
    }
}

/// The envelopes that the service sends, with their members in the order of protocol section 3.3.
package enum Outgoing: Sendable {
    case result(RequestID, JSONText)
    /// A nil id is written as null.
    case error(RequestID?, RPCError)
    case event(Event)
    case callback(Int64, Callback)

    /// Without framing: a reply as a member of a batch.
    package func frame(_ framing: Framing?) -> OutgoingFrame {
        switch self {
        case .result(let id, let text):
            if let raw = text.raw, let framing {
                OutgoingFrame(head: Self.head(id, ",\"result\":"), text: text.bytes, raw: raw, framing: framing)
            } else {
                OutgoingFrame(head: Self.head(id, ",\"result\":"), body: text.bytes, framing: framing)
            }
        case .error(let id, let error):
            OutgoingFrame(head: Self.head(id, ",\"error\":"), body: JSONWriter.bytes(of: error), framing: framing)
        case .event(let event):
            OutgoingFrame(head: Self.head(nil, event.name), body: event.params.bytes, framing: framing)
        case .callback(let id, let callback):
            OutgoingFrame(head: Self.head(id, callback.method), body: callback.params.bytes, framing: framing)
        }
    }

    private static func head(_ id: RequestID?, _ member: StaticString) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        bytes.append("{\"jsonrpc\":\"2.0\",\"id\":")
        switch id {
        case nil: bytes.append("null")
        case .integer(let number): bytes.append(decimal: number)
        case .string(let text): bytes.append(contentsOf: JSONWriter.bytes(of: text))
        }
        bytes.append(member)
        return bytes
    }

    private static func head(_ id: Int64?, _ method: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96)
        bytes.append("{\"jsonrpc\":\"2.0\",")
        if let id {
            bytes.append("\"id\":")
            bytes.append(decimal: id)
            bytes.append(",")
        }
        bytes.append("\"method\":")
        bytes.append(contentsOf: JSONWriter.bytes(of: method))
        bytes.append(",\"params\":")
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(decimal number: Int64) {
        if number < 0 { append(UInt8(ascii: "-")) }
        let first = count
        var left = number.magnitude
        repeat {
            append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: left % 10))
            left /= 10
        } while left > 0
        self[first...].reverse()
    }

    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
