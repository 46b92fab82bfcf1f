// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The server's side of a recorded WebSocket: sends the recorded messages up to the next one of the client, and expects that.
// proof: everything runs on the loop; other threads only carry the reference.
final class PlayedSocket: UpgradeLink, @unchecked Sendable {
    /// Longer messages are compared away from the event loop, in bytes.
    private static let longest = 16 << 10

    private let loop: any EventLoop
    private let client: ClientKey
    private let messages: [ReplayMessage]
    private let mask: CassetteMask
    private let factor: Double
    private var position = 0
    private var tap = FrameTap()
    private var output: [UInt8] = []
    /// What the client has sent, and was not looked at yet.
    private var frames: ArraySlice<(opcode: UInt8, bytes: [UInt8])> = []
    private var completions: [@Sendable (Bool) -> Void] = []
    private var isComparing = false
    private var alarm: Scheduled<Void>?
    /// The recorded server has closed.
    private var hasClosed = false
    private(set) var failure: HTTPFailure?
    private(set) var isOver = false
    /// There is more to read.
    var wake: (() -> Void)?

    /// - Parameter factor: of the recorded waits; 0 for none.
    init(
        _ messages: [ReplayMessage], _ mask: CassetteMask, factor: Double, for client: ClientKey, on loop: any EventLoop
    ) {
        self.client = client
        self.messages = messages
        self.mask = mask
        self.factor = factor
        self.loop = loop
    }

    func start() { advance() }

    func stop() {
        isOver = true
        alarm?.cancel()
        wake = nil
    }

    /// The bytes that have come; nil if there are none.
    func take() -> ByteBuffer? {
        guard !output.isEmpty else { return nil }
        defer { output = [] }
        return ByteBuffer(bytes: output)
    }

    private func advance() {
        while !isOver, alarm == nil, position < messages.count, !messages[position].isSent {
            let message = messages[position]
            let wait = position == 0 ? 0 : (message.time - messages[position - 1].time) * factor
            guard wait > 0 else {
                emit(message)
                continue
            }
            let place = position
            alarm = loop.scheduleTask(in: .seconds(wait)) {
                guard self.position == place else { return }
                self.alarm = nil
                self.emit(message)
                self.advance()
            }
        }
        wake?()
    }

    private func emit(_ message: ReplayMessage) {
        position += 1
        if message.opcode == 8 { hasClosed = true }
        output += FrameTap.serverFrame(message.opcode, message.bytes)
        wake?()
    }

    // MARK: the client

    func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }

    func soon(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

    func write(_ bytes: [UInt8], _ completion: @escaping @Sendable (Bool) -> Void) {
        frames += tap.feed(bytes)
        completions.append(completion)
        read()
    }

    /// Takes what the client has sent, one message after the other; a client waits while a long message is compared.
    private func read() {
        while !isOver, !isComparing, let frame = frames.popFirst() { took(frame.opcode, frame.bytes) }
        guard !isComparing else { return }
        let done = completions
        completions = []
        done.forEach { $0(true) }
        advance()
    }

    func finish(within seconds: Double) {
        onLoop {
            self.isOver = true
            self.wake?()
        }
    }

    private func took(_ opcode: UInt8, _ payload: [UInt8]) {
        switch opcode {
        case 9: output += FrameTap.serverFrame(10, payload)
        case 8:
            if !hasClosed { output += FrameTap.serverFrame(8, payload) }
            isOver = true
        case 1, 2:
            catchUp()
            expect(opcode, payload)
        default: break
        }
    }

    /// Sends what was recorded before the next message of the client, which is faster than the recorded one.
    private func catchUp() {
        alarm?.cancel()
        alarm = nil
        while position < messages.count, !messages[position].isSent { emit(messages[position]) }
    }

    private func expect(_ opcode: UInt8, _ payload: [UInt8]) {
        let wanted = position < messages.count ? messages[position] : nil
        let mask = mask
        guard payload.count > Self.longest else {
            return compared(Self.difference(opcode, payload, wanted, mask))
        }
        isComparing = true
        BlockingThreads.computing.run(for: client, isOwed: true) {
            let difference = Self.difference(opcode, payload, wanted, mask)
            self.loop.execute {
                self.isComparing = false
                self.compared(difference)
                self.read()
            }
        }
    }

    private func compared(_ difference: String?) {
        if let difference { fail(difference) } else { position += 1 }
    }

    /// How a message differs from the recorded one; nil if they are the same.
    private static func difference(
        _ opcode: UInt8, _ payload: [UInt8], _ wanted: ReplayMessage?, _ mask: CassetteMask
    ) -> String? {
        let sent = mask.message(payload, opcode: opcode)
        guard let wanted, wanted.isSent, wanted.opcode < 8 else {
            return "the client sent \(shown(sent)), and no message of it was recorded here"
        }
        let (one, two) = (shown(wanted.bytes), shown(sent))
        guard wanted.opcode == opcode else {
            return "the \(kind(wanted.opcode)) \(one) was recorded, and the client sent the \(kind(opcode)) \(two)"
        }
        if RequestMatcher.areSame(wanted.bytes, sent) { return nil }
        let text = "\(one) was recorded, and the client sent \(two)"
        if one != two { return text }
        // long messages are cut where they are shown
        let recorded = wanted.bytes
        let place = recorded.indices.first { $0 >= sent.count || recorded[$0] != sent[$0] } ?? recorded.count
        return "\(text); they differ from byte \(place) on"
    }

    private static func kind(_ opcode: UInt8) -> String { opcode == 1 ? "text" : "binary message" }

    private func fail(_ text: String) {
        failure = HTTPFailure(
            .replayMismatch, "message \(position + 1) of the WebSocket differs: \(text)", phase: .response,
            retryable: false, sent: .sent)
        isOver = true
    }

    private static func shown(_ bytes: [UInt8]) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { return "\(bytes.count) bytes" }
        return text.count <= 80 ? text : text.prefix(77) + "…"
    }
}
