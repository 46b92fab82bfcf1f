// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Runs `HTTP2Machine` over a channel: reads, writes what the machine wants once per turn of the loop, and hands its events
/// to the attempts on the streams.
///
/// It reads always: a reader that takes its time is held back by the window of its stream, so that it stops no other
/// (RFC 9113 section 5.2).
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
final class HTTP2Connection: ChannelInboundHandler, AttemptConnection, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Bytes of bodies that may be ahead of the kernel.
    private static let mostAhead = 256 << 10
    /// Bytes of a write without DATA whose end is not waited for.
    private static let mostUntold = 16 << 10
    /// Bytes of memory that are kept without a stream.
    private static let mostSpare = 2 << 10

    let id: PoolMachine.ConnectionID
    let key: PoolKey
    let facts: ConnectionFacts
    let channel: any Channel
    let place: ConnectionPlace
    let generation: Int
    /// For whose request it was opened.
    let holder: PoolHolder
    private let pool: ConnectionPool
    private var machine: HTTP2Machine
    /// By the slots of their ids.
    private var streams: [HTTP2AttemptStream?] = []
    private var context: ChannelHandlerContext?
    /// The bytes that are being looked at.
    private var arrival = ByteBuffer()
    /// Bytes since the last event of a stream, to be counted for the next one.
    private var uncounted = 0
    private var error: (any Error)?
    private var isPumping = false
    private var isReading = false
    private var isFlushing = false
    private var isFlushAwaited = false
    /// Bytes that were written and that the kernel has not taken.
    private var ahead = 0
    /// Memory of the last write, for the next one.
    private var spare = ByteBuffer()
    private var tick: Scheduled<Void>?
    private var room = ReadBufferSizing()
    /// Slots that the pool has lent, and those of them on which nothing has begun.
    private var lent = 1
    private var reserved = 1
    private var isDraining = false
    private var isClosed = false

    init(
        id: PoolMachine.ConnectionID, key: PoolKey, channel: any Channel, facts: ConnectionFacts, generation: Int,
        place: ConnectionPlace, holder: PoolHolder, pool: ConnectionPool
    ) {
        self.holder = holder
        self.id = id
        self.key = key
        self.channel = channel
        self.facts = facts
        self.generation = generation
        self.place = place
        self.pool = pool
        machine = HTTP2Machine(
            reserve: pool.reserve, now: pool.now, known: pool.knownCapacity(of: key), isAgreed: key.isSecure)
    }

    /// Puts this connection behind what the channel has already. The first bytes go out with the first request.
    func install() throws {
        try channel.pipeline.syncOperations.addHandler(self)
        channel.limitUnsentBytes()
        flushSoon()
        watchTime()
    }

    /// Attempts that it can carry at once.
    var capacity: Int { machine.capacity }
    var refusesForNow: Bool { machine.refusesForNow }
    var endsAfterOthers: Bool { machine.endsAfterOthers }

    // MARK: what the pool wants

    func reserve(for holder: PoolHolder) {
        lent += 1
        reserved += 1
    }

    func drain() {
        channel.eventLoop.assertInEventLoop()
        machine.drain()
        pump()
    }

    func close() { drain() }

    func decline() {
        guard reserved > 0 else { return }
        reserved -= 1
        settle()
    }

    // MARK: what attempts want

    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream? {
        channel.eventLoop.assertInEventLoop()
        let hasBody = attempt.body.size != 0
        let request = HTTP2Request(
            attempt, hasBody: hasBody, expectsContinue: expects, priority: attempt.priority)
        let before = machine.outputBytes
        guard !isClosed, let stream = try machine.begin(request, now: pool.now) else {
            noteDraining()
            decline()
            return nil
        }
        reserved -= 1
        var bytes = machine.outputBytes - before
        let begun = HTTP2AttemptStream(stream, on: self, for: user)
        if stream.slot >= streams.count {
            streams += Array(repeating: nil, count: stream.slot + 1 - streams.count)
        }
        streams[stream.slot] = begun
        if hasBody, !expects, let body = RequestWriter.joinedBody(attempt.body) {
            begun.add(ByteBuffer(bytes: body), nil)
            machine.bodyReady(stream, body.count, isLast: true)
            bytes += body.count
        }
        // a request that is alone waits for no other
        if machine.openStreams == 1, !isReading, !isPumping, !isFlushAwaited { flush() } else { flushSoon() }
        watchTime()
        return BegunStream(
            stream: begun, bytes: bytes, number: stream.number, isReused: machine.begunStreams > 1)
    }

    func send(_ piece: ByteBuffer, isLast: Bool, on stream: HTTP2AttemptStream) -> EventLoopFuture<Int> {
        let promise = channel.eventLoop.makePromise(of: Int.self)
        guard !isClosed, isCurrent(stream) else {
            promise.fail(ChannelError.ioOnClosedChannel)
            return promise.futureResult
        }
        stream.add(piece, promise)
        machine.bodyReady(stream.id, piece.readableBytes, isLast: isLast)
        flushSoon()
        return promise.futureResult
    }

    func pauseBody(_ isPaused: Bool, of stream: HTTP2AttemptStream) {
        guard isCurrent(stream) else { return }
        machine.pauseSending(stream.id, isPaused)
        if machine.mayWrite { flushSoon() }
    }

    func consumed(_ bytes: Int, on stream: HTTP2AttemptStream) {
        guard isCurrent(stream) else { return }
        machine.consumed(stream.id, bytes)
        if machine.hasOutput { flushSoon() }
    }

    func cancel(_ stream: HTTP2AttemptStream) {
        guard isCurrent(stream) else { return }
        streams[stream.id.slot] = nil
        machine.cancel(stream.id, now: pool.now)
        stream.end()
        pump()
    }

    private func isCurrent(_ stream: HTTP2AttemptStream) -> Bool {
        streams.indices.contains(stream.id.slot) && streams[stream.id.slot] === stream
    }

    // MARK: what the channel says

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        context.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = Self.unwrapInboundIn(data)
        room.took(bytes, from: channel)
        isReading = true
        let now = pool.now
        while bytes.readableBytes > 0, !isClosed {
            let count = bytes.withUnsafeReadableBytes { machine.received($0, now: now) }
            arrival = bytes
            uncounted += count
            pump()
            // the machine has looked at all of it if it has looked at nothing
            guard count > 0 else { break }
            bytes.moveReaderIndex(forwardBy: min(count, bytes.readableBytes))
        }
        arrival = ByteBuffer()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        if machine.openStreams == 0 { room.reset(channel) }
        guard !isClosed else { return flush() }
        // before the write: if that fails, the channel reads what is left, such as GOAWAY, only if a read is pending
        context.read()
        flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.error = self.error ?? error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        machine.closed()
        pump()
        context.fireChannelInactive()
    }

    // MARK: events

    /// Takes the events of the machine in their order, whatever the attempts do meanwhile.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        // first, so that an attempt that is told of its end gets no slot here again
        noteDraining()
        while let event = machine.nextEvent() {
            handle(event)
            noteDraining()
        }
        isPumping = false
        settle()
        if machine.hasOutput { flushSoon() }
    }

    private func handle(_ event: HTTP2Event) {
        switch event {
        case .informational(let id, let head): user(of: id)?.informational(head)
        case .response(let id, let head, let framing, let stopSending):
            user(of: id)?.responded(head, framing, stopSending: stopSending)
        case .body(let id, let range):
            guard let user = user(of: id),
                let piece = arrival.getSlice(at: arrival.readerIndex + range.lowerBound, length: range.count)
            else { return }
            if range.count > 0 { user.bodyCame(piece) }
        case .ended(let id, let trailers):
            guard let stream = take(id) else { return }
            count(for: stream.user)
            stream.end()?.completed(trailers: trailers)
        case .broke(let id, let end):
            guard let stream = take(id) else { return }
            let (end, error) = end.words(error)
            stream.end()?.ended(end, error)
        case .capacity(let capacity): pool.setCapacity(capacity, of: self)
        case .close: over()
        }
    }

    private func user(of id: HTTP2StreamID) -> (any ConnectionUser)? {
        guard streams.indices.contains(id.slot), let stream = streams[id.slot], stream.id == id else { return nil }
        count(for: stream.user)
        return stream.user
    }

    private func count(for user: (any ConnectionUser)?) {
        let bytes = uncounted
        uncounted = 0
        user?.received(bytes)
    }

    private func take(_ id: HTTP2StreamID) -> HTTP2AttemptStream? {
        guard streams.indices.contains(id.slot), let stream = streams[id.slot], stream.id == id else { return nil }
        streams[id.slot] = nil
        return stream
    }

    private func noteDraining() {
        guard machine.isDraining, !isDraining else { return }
        isDraining = true
        pool.drains(self)
    }

    /// Tells the pool about slots that have become free.
    private func settle() {
        while lent > machine.openStreams + reserved {
            lent -= 1
            pool.release(self)
        }
        if machine.openStreams == 0, spare.capacity > Self.mostSpare { spare = ByteBuffer() }
    }

    private func over() {
        guard !isClosed else { return }
        isClosed = true
        tick?.cancel()
        flush()
        channel.close(promise: nil)
        place.giveBack()
        pool.sharedEnded(self)
    }

    // MARK: time

    /// The machine looks at the clock every half second while something may take too long.
    private func watchTime() {
        guard tick == nil, !isClosed, machine.needsTicks else { return }
        tick = channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(500)) {
            self.tick = nil
            self.machine.timePassed(self.pool.now)
            self.pump()
            self.watchTime()
        }
    }

    // MARK: writing

    /// What is written in this turn of the loop goes out together.
    private func flushSoon() {
        guard !isFlushAwaited, !isReading else { return }
        isFlushAwaited = true
        channel.eventLoop.assumeIsolated().execute { self.flush() }
    }

    private func flush() {
        isFlushAwaited = false
        guard !isFlushing else { return }
        isFlushing = true
        // the kernel may take all at once, and more come for that: then others get their turn on the event loop
        var turns = 8
        while turns > 0, writeOnce() { turns -= 1 }
        isFlushing = false
        if turns == 0 { flushSoon() }
    }

    /// Whether anything was written.
    private func writeOnce() -> Bool {
        guard machine.mayWrite, let context else { return false }
        var output = ByteBuffer()
        swap(&output, &spare)
        // the same memory, unless the channel still has it
        output.clear()
        var done: [(promise: EventLoopPromise<Int>, bytes: Int)] = []
        var acks = machine.unsentAcks
        machine.takeOutput { _ = output.writeBytes($0) }
        while ahead + output.readableBytes < Self.mostAhead, let turn = machine.nextData() {
            acks += machine.unsentAcks
            machine.takeOutput { _ = output.writeBytes($0) }
            guard streams.indices.contains(turn.stream.slot), let stream = streams[turn.stream.slot],
                stream.id == turn.stream, stream.write(turn.bytes, isLast: turn.isLast, to: &output, &done)
            else {
                // the bodies here and the count of the machine differ: the connection must not go on
                for piece in done { piece.promise.fail(ChannelError.ioOnClosedChannel) }
                channel.close(promise: nil)
                return false
            }
        }
        guard output.readableBytes > 0 else { return false }
        write(output, acks, done, context)
        if machine.openStreams > 0 || output.capacity <= Self.mostSpare { spare = output }
        return true
    }

    private func write(
        _ output: ByteBuffer, _ acks: Int, _ done: [(promise: EventLoopPromise<Int>, bytes: Int)],
        _ context: ChannelHandlerContext
    ) {
        let count = output.readableBytes
        // nothing waits for the kernel to take the heads of a few requests
        if acks == 0, done.isEmpty, count <= Self.mostUntold {
            return context.writeAndFlush(Self.wrapOutboundOut(output), promise: nil)
        }
        ahead += count
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in
            self.ahead -= count
            self.machine.written(acks)
            for piece in done {
                switch result {
                case .success: piece.promise.succeed(piece.bytes)
                case .failure(let error): piece.promise.fail(error)
                }
            }
            if case .success = result, !self.isClosed, !self.isFlushing { self.flush() }
        }
        context.writeAndFlush(Self.wrapOutboundOut(output), promise: promise)
    }
}
