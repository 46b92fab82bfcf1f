// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides the next steps of an open WebSocket connection, on the client's side (RFC 6455, RFC 7692).
///
///     open ──close──▶ closing ──Close came──▶ ended
///       ├──Close came (the reply is among the frames)──▶ ended
///       └──fault: Close 1002, 1007, 1009──▶ ended        lost, in every state ──▶ ended
///
/// Masks are arguments; bytes to write and messages are results. After `ended` the runner closes the connection: once
/// the server has closed, or after two seconds.
///
/// Responsible for: the order of frames, fragments, UTF-8, limits, pongs, the closing handshake.
/// Not responsible for: the opening handshake (`WebSocketHandshake`), timers (`KeepAlive`), the queue of outgoing
/// messages.
package struct WebSocketMachine: ~Copyable {

    package enum Phase: Sendable, Equatable { case open, closing, ended }

    /// The message that is being received.
    private struct Message {
        var opcode = FrameOpcode.binary
        var isCompressed = false
        var text = UTF8Validator()
        /// The head of the record, to be filled in at its end, and the inflated payload so far; empty at first.
        var record: [UInt8] = []
        /// Received payload bytes, compressed or not.
        var received = 0
        /// Empty fragments in a row.
        var emptyFragments = 0
    }

    /// The frame whose payload is being received.
    private struct Frame {
        var head: FrameHead
        var left: Int
    }

    /// The most empty fragments in a row.
    private static let mostEmptyFragments = 1024
    /// The buffer of a message stays for the next one up to this size.
    private static let keptBytes = 16 << 10
    /// Room for a message at its beginning at most, however many bytes it announces.
    private static let roomBytes = 1 << 20

    private let maxMessage: Int
    private let inflater: (any MessageInflating)?
    package private(set) var phase = Phase.open
    private var scanner = FrameScanner()
    private var frame: Frame?
    private var message: Message?
    private var spare: [UInt8] = []
    private var control: [UInt8] = []
    /// The latest ping whose pong waits for room in the outbox.
    private var owedPong: [UInt8]?

    /// - Parameters:
    ///   - maxMessage: bytes of one inflated message at most.
    ///   - inflater: nil unless permessage-deflate was agreed.
    package init(maxMessage: Int, inflater: (any MessageInflating)? = nil) {
        self.maxMessage = maxMessage
        self.inflater = inflater
    }

    /// Whether a message has begun, and is not complete.
    package var isWithinMessage: Bool { message != nil || frame != nil || scanner.isWithinHead }

    /// Bytes of the message that is being received.
    package var heldBytes: Int { message?.record.count ?? 0 }

    // MARK: calls of the client

    /// Appends the frame of a message. False if the connection can send no more.
    package mutating func send(
        _ opcode: FrameOpcode, _ payload: UnsafeRawBufferPointer, deflater: (any MessageDeflating)? = nil,
        mask: UInt32, to frames: inout [UInt8]
    ) -> Bool {
        guard phase == .open else { return false }
        if let deflater {
            var packed: [UInt8] = []
            if deflater.deflate(payload, to: &packed) {
                packed.withUnsafeBytes { FrameWriter.append(opcode, $0, isCompressed: true, mask: mask, to: &frames) }
                return true
            }
        }
        FrameWriter.append(opcode, payload, mask: mask, to: &frames)
        return true
    }

    /// Appends a Close frame. False if already sent.
    package mutating func close(_ code: Int?, _ reason: String, mask: UInt32, to frames: inout [UInt8]) -> Bool {
        guard phase == .open else { return false }
        phase = .closing
        FrameWriter.appendClose(code, reason, mask: mask, to: &frames)
        return true
    }

    /// The runner found a fault: a late pong, an unacceptable message.
    package mutating func fail(_ fault: WebSocketFault, mask: UInt32, into arrivals: inout WebSocketArrivals) {
        guard phase != .ended else { return }
        if phase == .open { FrameWriter.appendClose(fault.code, "", mask: mask, to: &arrivals.frames) }
        end(.failed(fault), &arrivals)
    }

    /// The outbox has room: writes the owed pong, unless the server has sent its Close frame meanwhile.
    package mutating func drained(mask: UInt32, to frames: inout [UInt8]) {
        guard let payload = owedPong.take(), phase != .ended else { return }
        payload.withUnsafeBytes { FrameWriter.append(.pong, $0, mask: mask, to: &frames) }
    }

    package var owesPong: Bool { owedPong != nil }

    // MARK: input from the server

    /// TCP ended.
    package mutating func lost() -> WebSocketEnd? {
        guard phase != .ended else { return nil }
        defer { phase = .ended }
        return .lost(wasClosing: phase == .closing)
    }

    /// Handles received bytes.
    ///
    /// - Parameter isCongested: the outbox is full: only the latest ping gets its pong, later.
    package mutating func received(
        _ bytes: UnsafeRawBufferPointer, isCongested: Bool = false, nextMask: () -> UInt32,
        into arrivals: inout WebSocketArrivals
    ) {
        guard phase != .ended else { return }
        do throws(WebSocketFault) {
            var index = 0
            while phase != .ended {
                if frame == nil {
                    guard let head = try scanner.head(in: bytes, at: &index) else { return }
                    try begin(head)
                }
                let isOver = try takePayload(bytes, &index, isCongested, nextMask, &arrivals)
                if !isOver { return }
            }
        } catch {
            fail(error, mask: nextMask(), into: &arrivals)
        }
    }

    // MARK: frames

    /// Checks a frame by its head, before its payload arrives.
    private mutating func begin(_ head: FrameHead) throws(WebSocketFault) {
        let mayBeCompressed = inflater != nil && (head.opcode == .text || head.opcode == .binary)
        guard head.reserved == 0 || (head.reserved == 4 && mayBeCompressed) else {
            throw .broken("a frame has a reserved bit that was not agreed on")
        }
        frame = Frame(head: head, left: head.length)
        if head.opcode.isControl { return control.removeAll(keepingCapacity: true) }
        if head.opcode == .continuation {
            guard message != nil else { throw .broken("a fragment continues no message") }
        } else {
            guard message == nil else { throw .broken("a message begins within another one") }
            var begun = Message(opcode: head.opcode, isCompressed: head.reserved == 4)
            swap(&begun.record, &spare)
            message = begun
        }
        try judgeLength(head)
    }

    private mutating func judgeLength(_ head: FrameHead) throws(WebSocketFault) {
        guard var current = message.take() else { return }
        let (total, isOver) = current.received.addingReportingOverflow(head.length)
        // compressed data is hardly ever longer than the original
        let most = current.isCompressed ? maxMessage &* 2 &+ 1024 : maxMessage
        if isOver || total > most { throw .tooBig(maxMessage) }
        current.emptyFragments = head.length == 0 ? current.emptyFragments &+ 1 : 0
        if current.emptyFragments > Self.mostEmptyFragments {
            throw WebSocketFault(CloseCode.policyViolation, "a message has too many empty fragments")
        }
        message = current
    }

    /// Takes the available part of the frame's payload. Returns whether the payload is complete.
    private mutating func takePayload(
        _ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ isCongested: Bool, _ nextMask: () -> UInt32,
        _ arrivals: inout WebSocketArrivals
    ) throws(WebSocketFault) -> Bool {
        guard var current = frame else { return false }
        let count = min(current.left, bytes.count &- index)
        let place = index..<index &+ count
        index &+= count
        current.left &-= count
        let isOver = current.left == 0
        frame = isOver ? nil : current
        if current.head.opcode.isControl {
            control.append(contentsOf: bytes[place])
            if isOver { try takeControl(current.head.opcode, isCongested, nextMask, &arrivals) }
        } else {
            try takeData(bytes, place, left: current.left, isLast: isOver && current.head.isFinal, &arrivals)
        }
        return isOver
    }

    // MARK: messages

    /// - Parameters:
    ///   - place: of the piece within the input.
    ///   - left: bytes of the frame that follow the piece.
    private mutating func takeData(
        _ bytes: UnsafeRawBufferPointer, _ place: Range<Int>, left: Int, isLast: Bool,
        _ arrivals: inout WebSocketArrivals
    ) throws(WebSocketFault) {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[place])
        guard var current = message.take() else { return }
        current.received &+= piece.count
        if isLast, !current.isCompressed, current.record.isEmpty || arrivals.records.leaves(piece.count) {
            return try finish(&current, bytes, place, &arrivals)
        }
        if current.record.isEmpty {
            current.record.reserveCapacity(MessageRecord.headBytes &+ piece.count &+ min(left, Self.roomBytes))
            current.record.append(contentsOf: repeatElement(0, count: MessageRecord.headBytes))
        }
        let before = current.record.count
        if current.isCompressed {
            try inflate(piece, isLast: isLast, &current)
        } else {
            current.record.append(contentsOf: piece)
        }
        // the record is moved out while its own validator reads the bytes
        var record: [UInt8] = []
        swap(&record, &current.record)
        let found = record.withUnsafeBytes { fault(in: UnsafeRawBufferPointer(rebasing: $0[before...]), &current) }
        if let found { throw found }
        guard isLast else {
            current.record = record
            message = current
            return
        }
        if let fault = fault(atEndOf: current) { throw fault }
        MessageRecord.seal(current.opcode.recordKind, &record)
        hand(&record, &arrivals)
    }

    /// Takes the last piece of a message without a copy. A message in a single piece needs no buffer of its own.
    private mutating func finish(
        _ current: inout Message, _ bytes: UnsafeRawBufferPointer, _ place: Range<Int>,
        _ arrivals: inout WebSocketArrivals
    ) throws(WebSocketFault) {
        let piece = UnsafeRawBufferPointer(rebasing: bytes[place])
        if let fault = fault(in: piece, &current) ?? fault(atEndOf: current) { throw fault }
        arrivals.messages &+= 1
        guard current.record.isEmpty else {
            MessageRecord.seal(current.opcode.recordKind, &current.record, left: place.count)
            return arrivals.records.append(begun: current.record, place)
        }
        arrivals.records.append(current.opcode.recordKind, bytes, place)
        spare = current.record
    }

    private mutating func hand(_ record: inout [UInt8], _ arrivals: inout WebSocketArrivals) {
        arrivals.messages &+= 1
        arrivals.records.append(record)
        guard record.capacity <= Self.keptBytes else { return }
        record.removeAll(keepingCapacity: true)
        swap(&spare, &record)
    }

    private func inflate(
        _ piece: UnsafeRawBufferPointer, isLast: Bool, _ current: inout Message
    ) throws(WebSocketFault) {
        guard let inflater else { return }
        let room = maxMessage &- (current.record.count &- MessageRecord.headBytes)
        switch inflater.inflate(piece, isLast: isLast, room: room, to: &current.record) {
        case .done: return
        case .tooLong: throw .tooBig(maxMessage)
        case .malformed: throw WebSocketFault(CloseCode.invalidPayload, "a compressed message cannot be inflated")
        }
    }

    /// Refuses text at its first byte that is not UTF-8.
    private func fault(in piece: UnsafeRawBufferPointer, _ current: inout Message) -> WebSocketFault? {
        guard current.opcode == .text, !current.text.accept(piece) else { return nil }
        return WebSocketFault(CloseCode.invalidPayload, "a text message is not UTF-8")
    }

    private func fault(atEndOf current: borrowing Message) -> WebSocketFault? {
        guard current.opcode == .text, !current.text.isComplete else { return nil }
        return WebSocketFault(CloseCode.invalidPayload, "a text message ends within a character")
    }

    // MARK: control frames

    private mutating func takeControl(
        _ opcode: FrameOpcode, _ isCongested: Bool, _ nextMask: () -> UInt32, _ arrivals: inout WebSocketArrivals
    ) throws(WebSocketFault) {
        switch opcode {
        case .ping:
            // also behind the client's own Close frame (RFC 6455 section 5.5.2): only data must not follow that
            if isCongested || owedPong != nil {
                owedPong = control
            } else {
                control.withUnsafeBytes { FrameWriter.append(.pong, $0, mask: nextMask(), to: &arrivals.frames) }
            }
        case .pong: arrivals.pongs.append(control)
        default: try takeClose(nextMask, &arrivals)
        }
    }

    private mutating func takeClose(
        _ nextMask: () -> UInt32, _ arrivals: inout WebSocketArrivals
    ) throws(WebSocketFault) {
        if control.count == 1 { throw .broken("a Close frame has a payload of one byte") }
        var code: Int?
        var reason = ""
        if control.count >= 2 {
            let sent = Int(control[0]) << 8 | Int(control[1])
            guard CloseCode.isSendable(sent) else { throw .broken("a Close frame has the code \(sent)") }
            guard let text = String(validating: control.dropFirst(2), as: UTF8.self) else {
                throw WebSocketFault(CloseCode.invalidPayload, "the reason of a Close frame is not UTF-8")
            }
            (code, reason) = (sent, text)
        }
        if phase == .open { FrameWriter.appendClose(code, "", mask: nextMask(), to: &arrivals.frames) }
        end(.closed(code: code, reason: reason), &arrivals)
    }

    private mutating func end(_ end: WebSocketEnd, _ arrivals: inout WebSocketArrivals) {
        phase = .ended
        message = nil
        frame = nil
        owedPong = nil
        arrivals.end = end
    }
}
