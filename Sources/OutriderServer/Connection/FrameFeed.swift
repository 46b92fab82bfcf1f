// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderJSON
import OutriderRPC
import Synchronization

/// Cuts a client's bytes into frames, parses them and hands the messages to the connection, in order. Lives on the
/// connection's event loop.
///
/// Small frames are parsed in place. Large frames are copied once and parsed on another thread; until then the feed
/// neither reads nor parses further bytes of this client.
///
/// A frame that may hold secrets is moved into locked memory first. Its bytes, and those of broken or incomplete
/// frames, are zeroed in the read buffer: see `ReadBuffer`.
final class FrameFeed {
    private let connection: Connection
    private let limits: ServerLimits
    private var scanner: FrameScanner
    private var buffer = ReadBuffer()
    /// The memory for a long message.
    private lazy var memory = MessageMemory(
        connection.dispatch?.memory, loop: loop, patience: .clamped(limits.memoryPatience))
    /// Whether memory may have been taken for a part of a message.
    private var reserves = false
    private lazy var secrets = connection.dispatch?.secrets ?? SecretMembers()
    private var ended = false
    private var endReported = false
    private var busy = false
    /// Reading is paused until there is memory for a message.
    private var awaitsMemory = false
    private var over = false
    private var framingKnown = false
    /// The connection is hijacked: input is kept until the hijacking call has its reply.
    private var isHeld = false
    /// The outbox is over its limit: frames are parsed again after the client has read.
    private var isFull = false
    private var isPaused = false
    /// The receiver of raw bytes, once the connection carries no messages.
    private var raw: RawConnection?

    init(_ connection: Connection, framing: Framing?) {
        self.connection = connection
        limits = connection.setting.limits
        scanner = FrameScanner(limits: limits.frame, forced: framing)
        learnFraming()
        connection.read(by: self)
    }

    private var loop: any EventLoop { connection.loop }

    func received(_ data: consuming ByteBuffer) {
        connection.service.tally.bytesReceived.count(data.readableBytes)
        if over {
            buffer.append(data, erasing: true)
            return buffer.drop(erasing: true)
        }
        if let raw { return raw.received(data) }
        let isHarmless = buffer.count > 0 && buffer.withBytes { !secrets.mayBe(inStart: $0, limits: limits.message) }
        buffer.append(data, erasing: !isHarmless)
        work()
        reserve()
    }

    /// Takes memory for a message of which a part is here; stops reading while there is none.
    ///
    /// Bytes that wait while the connection is hijacked, or for the client to read, may be raw bytes or short messages:
    /// reading stops soon, and they are not counted.
    private func reserve() {
        guard reserves || buffer.count > LongBody.counted, !busy, !over, raw == nil, !isHeld, !isFull else {
            return
        }
        reserves = buffer.count > LongBody.counted
        // the message was skipped
        guard reserves else { return memory.end() }
        guard !memory.covers(buffer.count) else { return }
        pause()
        awaitsMemory = true
        memory.wait(buffer.count, { self.resume() }, giveUp: { self.giveUp() })
    }

    /// No message follows: gives memory back, and goes on reading.
    private func forgo() {
        reserves = false
        memory.end()
        guard awaitsMemory else { return }
        (busy, awaitsMemory) = (false, false)
        connection.state.withLock { $0.feedBusy = false }
        connection.wire.setReading(true)
    }

    /// The connection is over.
    func end() { memory.end() }

    /// There was no memory for a message for too long: refuses the message, and skips the rest as the bytes come.
    private func giveUp() {
        scanner.refuse()
        resume()
    }

    /// The same for a whole frame, which has left the buffer.
    private func giveUp(_ frame: UnsafeBufferPointer<UInt8>) {
        let glimpse = UnsafeBufferPointer(rebasing: frame.prefix(FrameLimits.glimpse))
        if !over, raw == nil { take(found(.one(MalformedMessage.reply(withoutMemory: glimpse)), in: glimpse)) }
        resume()
    }

    func inputEnded() {
        guard !ended else { return }
        ended = true
        if let raw { return raw.inputEnded() }
        work()
        // a message that was cut off needs no memory
        reserve()
        // so that padding starts even while the connection is hijacked: the client waits for the reply
        if isHeld { reportEnd() }
    }

    // MARK: hijacking

    /// Discards all further input, as if the client had ended its output.
    func stop() {
        discard()
        reportEnd()
        connection.flush()
    }

    /// Discards all further input.
    func discard() {
        over = true
        buffer.drop(erasing: true)
        forgo()
        read(true)
    }

    /// Passes buffered and all further bytes to the raw connection.
    func handOver(to raw: RawConnection) {
        self.raw = raw
        isHeld = false
        forgo()
        raw.received(buffer.take())
        if ended { raw.inputEnded() }
        read(true)
    }

    private func read(_ on: Bool) {
        guard isPaused == on else { return }
        isPaused = !on
        connection.wire.setReading(on)
    }

    private func receive(_ incoming: Incoming, _ bytes: Int) {
        connection.receive(incoming, bytes: bytes)
        (isHeld, isFull) = connection.obstacles
    }

    /// Resumes after the client has read some of the outbox.
    func goOn() {
        guard isFull else { return }
        isFull = false
        connection.expectFlush()
        work()
        reserve()
        connection.flush()
    }

    /// The outcome of a step.
    private enum Found {
        case nothing
        /// With the size of their frame.
        case messages(Incoming, Int)
        /// An invalid message, but raw bytes may follow as after a method with `takesBytes`.
        case misspelt(Incoming)
        case large(ByteBuffer)
        case largeSecret(Secret)
        case http
        case broken(String)
    }

    private func work() {
        if isHeld, buffer.count >= 256 << 10 { read(false) }
        while !busy && !over && !isHeld && !isFull {
            let (found, consumed, erases) = step()
            buffer.consume(consumed, erasing: erases)
            if !framingKnown { learnFraming() }
            guard case .nothing = found else {
                take(found)
                continue
            }
            if consumed > 0 { continue }
            buffer.tidy()
            if ended { reportEnd() }
            return
        }
    }

    private func take(_ found: Found) {
        switch found {
        case .nothing: break
        case .messages(let incoming, let bytes): receive(incoming, bytes)
        case .misspelt(let incoming):
            connection.receive(incoming)
            connection.endMessages()
        case .large(let bytes):
            @Sendable func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
                bytes.withUnsafeReadableBytes { body($0.bindMemory(to: UInt8.self)) }
            }
            parseElsewhere(bytes.readableBytes, giveUp: { withBytes { self.giveUp($0) } }) { framing, limits in
                withBytes { Self.parse($0, framing: framing, limits) }
            }
        case .largeSecret(let frame):
            parseElsewhere(frame.count, giveUp: { frame.withBytes { self.giveUp($0) } }) { [secrets] framing, limits in
                frame.withBytes { Self.parse($0, with: secrets, framing: framing, limits) }
            }
        case .http:
            over = true
            connection.refuseHTTP()
        case .broken(let reason):
            over = true
            connection.refuse(
                RPCError(.parseError, "Parse error: \(reason)", data: ["reason": .string(reason)]))
        }
    }

    /// The next frame, how many bytes to consume, and whether to zero them.
    private func step() -> (Found, consumed: Int, erases: Bool) {
        let framing = scanner.framing ?? .line
        return buffer.withBytes { bytes in
            switch scanner.next(bytes, ended: ended) {
            case .more(let consumed): return (.nothing, consumed, true)
            case .frame(let range, let consumed):
                let frame = UnsafeBufferPointer(rebasing: bytes[range])
                let plain = PlainFrame(frame, limits: limits.message)
                if secrets.mayBe(in: frame, plain) {
                    return (found(Secret(copying: UnsafeRawBufferPointer(frame))), consumed, true)
                }
                if frame.count > limits.parseOnLoop { return (.large(buffer.frame(range, consumed)), consumed, false) }
                let parsed = Self.parse(frame, as: plain, framing: scanner.framing ?? .line, limits.message)
                return (found(parsed, in: frame), consumed, false)
            case .cut(let range, let consumed):
                let frame = UnsafeBufferPointer(rebasing: bytes[range])
                let failure = JSONFailure(
                    reason: "the input ended after \(range.count) bytes of a longer message", offset: range.count)
                return (
                    found(.one(MalformedMessage.reply(to: frame, failure, framing: framing)), in: frame), consumed,
                    true
                )
            case .tooLong(let range, let consumed):
                let glimpse = UnsafeBufferPointer(rebasing: bytes[range])
                let reply = MalformedMessage.reply(toTooLong: glimpse, limit: limits.frame.message)
                return (found(.one(reply), in: glimpse), consumed, true)
            case .refused(let range, let consumed):
                let glimpse = UnsafeBufferPointer(rebasing: bytes[range])
                return (found(.one(MalformedMessage.reply(withoutMemory: glimpse)), in: glimpse), consumed, true)
            case .http: return (.http, 0, false)
            case .broken(let reason): return (.broken(reason), 0, false)
            }
        }
    }

    /// Checks a broken message for the name of a method with `takesBytes`: then bytes may follow.
    private func found(_ incoming: Incoming, in frame: UnsafeBufferPointer<UInt8>) -> Found {
        guard case .one(.broken) = incoming, connection.mayTakeBytes(frame) else {
            return .messages(incoming, frame.count)
        }
        return .misspelt(incoming)
    }

    /// A frame that may hold secrets, in locked memory.
    private func found(_ frame: Secret) -> Found {
        if frame.count > limits.parseOnLoop { return .largeSecret(frame) }
        return frame.withBytes { bytes in
            found(Self.parse(bytes, with: secrets, framing: scanner.framing ?? .line, limits.message), in: bytes)
        }
    }

    private static func parse(
        _ frame: UnsafeBufferPointer<UInt8>, as plain: PlainFrame? = nil, with secrets: SecretMembers? = nil,
        framing: Framing, _ limits: MessageLimits
    ) -> Incoming {
        do throws(JSONFailure) {
            if let secrets { return try Incoming(parsing: frame, with: secrets, limits: limits) }
            return try Incoming(parsing: frame, as: plain, limits: limits)
        } catch {
            return .one(MalformedMessage.reply(to: frame, error, framing: framing))
        }
    }

    /// Not shared with work that may block, such as looking up names. Starts with the first large message.
    private static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: 2)
        threads.start()
        return threads
    }()

    private func parseElsewhere(
        _ size: Int, giveUp: @escaping () -> Void, _ parse: @escaping @Sendable (Framing, MessageLimits) -> Incoming
    ) {
        pause()
        // the frame stands elsewhere now
        buffer.tidy()
        if memory.covers(size) { return run(parse) }
        awaitsMemory = true
        memory.wait(size, { self.run(parse) }, giveUp: giveUp)
    }

    private func run(_ parse: @escaping @Sendable (Framing, MessageLimits) -> Incoming) {
        awaitsMemory = false
        let framing = scanner.framing ?? .line
        let limits = limits.message
        let dispatch = connection.dispatch
        let parsed = Self.threads.runIfActive(eventLoop: loop) { LongIncoming(parse(framing, limits), dispatch) }
        let charge = memory.take()
        parsed.assumeIsolated().whenComplete { result in
            self.connection.expectFlush()
            if case .success(let long) = result, !self.over, self.raw == nil {
                self.connection.receive(long.incoming, charge: charge, isLong: true, decoded: long.decoded)
                if let charge, charge.isBeyond { MessageMemory.endSoon(charge, on: self.loop) }
                (self.isHeld, self.isFull) = self.connection.obstacles
            }
            self.resume()
        }
    }

    /// Stops reading and parsing until `resume`.
    private func pause() {
        busy = true
        connection.state.withLock { $0.feedBusy = true }
        connection.wire.setReading(false)
    }

    private func resume() {
        (busy, awaitsMemory) = (false, false)
        connection.state.withLock { $0.feedBusy = false }
        connection.expectFlush()
        work()
        reserve()
        connection.flush()
        if !busy, connection.state.withLock({ $0.mayRead }) { connection.wire.setReading(true) }
    }

    private func learnFraming() {
        guard let framing = scanner.framing else { return }
        framingKnown = true
        connection.learned(framing)
    }

    private func reportEnd() {
        guard !endReported else { return }
        endReported = true
        connection.inputEnded()
    }
}
