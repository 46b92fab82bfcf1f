// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP

/// Runs `HTTP1Machine` over a channel: one request at a time, whose response is read no faster than the reader
/// consumes.
///
/// An idle connection keeps a read pending, so that the server's close, or unexpected bytes, are noticed at once.
///
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
final class HTTP1Connection: ChannelDuplexHandler, AttemptConnection, AttemptStream, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The state of the running request, or of the last; `begin` replaces all of it.
    private struct Running {
        /// The attempt that gets the response; nil after the response.
        var user: (any ConnectionUser)?
        var method = ""
        /// Whether the body of the request goes out in chunks (RFC 9112 section 7.1).
        var isChunked = false
        /// The framing of the response's body; nil before the final head.
        var framing: BodyFraming?
        /// The number of heads before the final head.
        var informationalHeads = 0
        /// Whether the user has paused reading.
        var isPaused = false
        /// Reuse or close, once the response is complete; takes effect at the end of the read.
        var ending: HTTP1Machine.End?
    }

    let id: PoolMachine.ConnectionID
    let key: PoolKey
    let facts: ConnectionFacts
    let channel: any Channel
    /// Returned when the connection ends.
    let place: ConnectionPlace
    /// The generation of trusted roots at the time of the handshake.
    let generation: Int
    /// The pool that owns the connection, and outlives it.
    private let pool: ConnectionPool

    private var machine = HTTP1Machine()
    private var running = Running()
    private var context: ChannelHandlerContext?
    private var isClosed = false
    /// The socket, since NIO finds it slowly; -1 if there is none, nil before the first look.
    private var descriptor: CInt?
    /// Whether bytes of a request went through the pipeline, where some may wait.
    private var usesPipeline = false
    /// The current or last user.
    private(set) var holder: PoolHolder
    /// Whether an attempt has the connection, or is about to; otherwise the pool has it.
    private var isLent = true
    private(set) var idleUntil = Double.infinity

    private var reader = ResponseReader()
    private var room = ReadBufferSizing()

    init(
        id: PoolMachine.ConnectionID, key: PoolKey, channel: any Channel, facts: ConnectionFacts, generation: Int,
        place: ConnectionPlace, holder: PoolHolder, pool: ConnectionPool
    ) {
        self.generation = generation
        self.holder = holder
        self.id = id
        self.key = key
        self.channel = channel
        self.facts = facts
        self.place = place
        self.pool = pool
    }

    /// Adds this handler to the end of the pipeline.
    func install() throws { try channel.pipeline.syncOperations.addHandler(self) }

    // MARK: calls from the pool

    func reserve(for holder: PoolHolder) {
        self.holder = holder
        isLent = true
    }

    func close() {
        channel.eventLoop.assertInEventLoop()
        running.user = nil
        isLent = false
        guard !isClosed else { return }
        isClosed = true
        channel.close(promise: nil)
        place.giveBack()
        pool.unwatch(self)
    }

    func drain() {}

    // MARK: calls from the attempt

    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream? {
        channel.eventLoop.assertInEventLoop()
        let bytes = try RequestWriter.head(attempt, expects: expects)
        guard !isClosed, let context else { return nil }
        if machine.requests > 0, machine.isIdle, hasUnread(context) {
            finish()
            return nil
        }
        guard machine.begin(method: attempt.method, logsIn: attempt.logsIn) else { return nil }
        running = Running(user: user, method: attempt.method, isChunked: attempt.body.size == nil)
        write(bytes, to: context)
        return BegunStream(stream: self, bytes: bytes.readableBytes, number: nil, isReused: machine.isReused)
    }

    /// Gives the head to the kernel at once if neither TLS nor earlier bytes are in between: the way through the pipeline
    /// is long. The pipeline gets the rest, or meets the same failure.
    private func write(_ bytes: ByteBuffer, to context: ChannelHandlerContext) {
        var rest = bytes
        // the descriptor of a closed channel may be that of another socket
        if let descriptor, descriptor >= 0, !key.usesTLS, channel.isActive, isPipelineEmpty {
            let flags = CInt(truncatingIfNeeded: MSG_DONTWAIT | MSG_NOSIGNAL)
            let taken = rest.withUnsafeReadableBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, flags) }
            rest.moveReaderIndex(forwardBy: max(0, taken))
        }
        guard rest.readableBytes > 0 else { return }
        usesPipeline = true
        context.writeAndFlush(NIOAny(rest), promise: nil)
    }

    private var isPipelineEmpty: Bool {
        if usesPipeline { usesPipeline = (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) != 0 }
        return !usesPipeline
    }

    /// Whether the server has sent something after the last response, or has closed the connection, though the loop has
    /// not read so far. Such bytes must not count as the response to a request that comes after them (RFC 9112 section
    /// 9.2), and a request on a closed connection would be lost. Behind TLS, the bytes may be an alert.
    private func hasUnread(_ context: ChannelHandlerContext) -> Bool {
        if descriptor == nil {
            let found = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
            descriptor = found ?? -1
        }
        guard let descriptor, descriptor >= 0 else { return false }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, CInt(clamping: MSG_PEEK) | CInt(clamping: MSG_DONTWAIT))
        return count >= 0 || errno != EAGAIN && errno != EINTR
    }

    func decline() {
        guard isLent, running.user == nil else { return }
        isLent = false
        pool.takeBack(self)
    }

    /// Ends the connection: the rest of the response could not be told from a later response.
    func cancel() {
        let wasLent = isLent
        close()
        if wasLent { pool.ended(self) }
    }

    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int> {
        usesPipeline = true
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let bytes = running.isChunked ? Self.chunk(piece) : piece
        let count = bytes.readableBytes
        guard !isClosed, let context else {
            promise.fail(ChannelError.ioOnClosedChannel)
            return promise.futureResult.map { 0 }
        }
        context.writeAndFlush(NIOAny(bytes), promise: promise)
        return promise.futureResult.map { count }
    }

    /// A chunk (RFC 9112 section 7.1); an empty chunk is the last.
    private static func chunk(_ piece: ByteBuffer) -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(piece.readableBytes + 16)
        chunk.writeString(String(piece.readableBytes, radix: 16))
        chunk.writeStaticString("\r\n")
        chunk.writeImmutableBuffer(piece)
        chunk.writeStaticString("\r\n")
        return chunk
    }

    var unsent: Int { channel.unsentBytes }

    func requestSent() { machine.requestSent() }

    func consumed(_ bytes: Int) {
        guard running.isPaused, !isClosed, running.user?.wantsMore() == true else { return }
        running.isPaused = false
        context?.read()
    }

    // MARK: calls from the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        context.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let arrival = Self.unwrapInboundIn(data)
        switch machine.bytesReceived(beginsResponse: arrival.beginsLikeResponse) {
        case .wanted: break
        // unexpected bytes after a response could be taken for the next response
        case .unasked: return isClosed ? () : broke(.quiet, nil)
        case .leftOver: return isClosed ? () : broke(machine.closed(), Self.leftOver)
        }
        room.took(arrival, from: channel)
        running.user?.received(arrival.readableBytes)
        read(arrival)
    }

    /// The fault if the request may not be sent again.
    private static let leftOver = ResponseFault.malformed("bytes that belong to no response came before it")

    private func read(_ arrival: ByteBuffer) {
        var position = 0
        do {
            while !isClosed,
                let part = try arrival.withUnsafeReadableBytes({ try reader.next($0, from: &position) })
            {
                switch part {
                case .head(let head): received(head)
                case .body(let range):
                    let start = arrival.readerIndex + range.lowerBound
                    guard let piece = arrival.getSlice(at: start, length: range.count) else { return }
                    running.user?.bodyCame(piece)
                case .end(let trailers):
                    // whatever follows the end was not asked for
                    return ended(trailers: trailers, isClean: position == arrival.readableBytes)
                }
            }
        } catch {
            broke(running.framing == nil ? .inHead : .inBody, error)
        }
    }

    private func ended(trailers: HTTPFields, isClean: Bool) {
        running.ending = machine.bodyEnded() == .reuse && isClean ? .reuse : .close
        let user = running.user
        running.user = nil
        user?.completed(trailers: trailers)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !isClosed else { return }
        switch running.ending {
        case nil:
            guard let user = running.user else { break }
            running.isPaused = !user.wantsMore()
            if !running.isPaused { context.read() }
        case .reuse:
            running.ending = nil
            room.reset(channel)
            context.read()
            isLent = false
            idleUntil = machine.idleSeconds.map { pool.now + $0 } ?? .infinity
            pool.takeBack(self)
        case .close: finish()
        }
    }

    private func received(_ head: ResponseHead) {
        do {
            switch try machine.headReceived(head) {
            case .informational:
                running.informationalHeads += 1
                guard running.informationalHeads <= HTTP1Limits.informational else {
                    throw HTTPFailure.tooManyInformational
                }
                running.user?.informational(head)
            case .response(let framing, let stopSending):
                running.framing = framing
                reader.begin(framing)
                if case .length(let length) = framing { room.expect(length, from: channel) }
                running.user?.responded(head, framing, stopSending: stopSending)
            }
        } catch {
            broke(.inHead, error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    /// This machine has lost the address of the connection.
    func lose() { failed(LostAddress()) }

    private func failed(_ error: any Error) {
        guard !isClosed else { return }
        let end = machine.closed()
        // a broken connection ends no body, not even a body that is delimited by the close
        broke(end == .endsBody ? .inBody : end, error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard !isClosed else { return }
        let end = machine.closed()
        if end == .endsBody { ended(trailers: [], isClean: true) }
        broke(end, nil)
    }

    private func broke(_ end: ConnectionEnd, _ error: (any Error)?) {
        let user = running.user
        let wasLent = isLent
        close()
        // first, since a request that is sent again takes over the place of the dead connection
        user?.ended(end, error)
        if wasLent { pool.ended(self) } else { pool.idleEnded(self) }
    }

    private func finish() {
        close()
        pool.ended(self)
    }
}

extension HTTPFailure {
    static var tooManyInformational: HTTPFailure {
        let text = "the server sent more than \(HTTP1Limits.informational) informational responses"
        return HTTPFailure(.limitExceeded, text, phase: .firstByte, sent: .sent)
    }
}

extension ByteBuffer {
    /// Whether the buffer may begin with a status line, as far as its bytes tell. Line ends left over from before may
    /// come first.
    fileprivate var beginsLikeResponse: Bool {
        withUnsafeReadableBytes { bytes in
            if bytes.count >= 5, UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)) == 0x5054_5448 {
                return bytes[4] == UInt8(ascii: "/")
            }
            let line = bytes.drop { $0 == 0x0D || $0 == 0x0A }
            return line.prefix(5).elementsEqual("HTTP/".utf8.prefix(line.count))
        }
    }
}
