// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import OutriderHTTP

/// Runs `HTTP1Machine` over a channel: one request at a time, whose response is read no faster than the reader
/// consumes.
///
/// An idle connection keeps a read pending, so that the server's close, or unexpected bytes, are noticed at once.
///
/// The handler is next to the wire. It reads plain responses itself, at a fifth of the cost; all other responses go
/// from first to last byte to a parser behind, and return as parts.
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
final class HTTP1Connection: ChannelDuplexHandler, AttemptConnection, AttemptStream, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    /// The reader of the response.
    private enum Reader {
        /// Decided by the first bytes.
        case unknown
        /// This handler; `left` bytes of the body are to come.
        case plain(left: Int64)
        case parser
    }

    /// The state of the running request, or of the last; `begin` replaces all of it.
    private struct Running {
        /// The attempt that gets the response; nil after the response.
        var user: (any ConnectionUser)?
        var method = ""
        /// Whether the body of the request goes out in chunks (RFC 9112 section 7.1).
        var isChunked = false
        var reader = Reader.unknown
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
    /// The current or last user.
    private(set) var holder: PoolHolder
    /// Whether an attempt has the connection, or is about to; otherwise the pool has it.
    private var isLent = true

    /// The handler behind the parser, after the first response that needed the parser.
    private var parts: ResponseParts?
    /// Finds texts beside the parser, which gives standard phrases, and replaces what is not UTF-8.
    private var texts = HeadTexts()
    /// The last read from the network, while its bytes are parsed.
    private var arrival = ByteBuffer()
    /// The last piece of a body in `arrival`.
    private var piece: ByteBuffer?
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

    var isReused: Bool { machine.isReused }

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
    }

    func drain() {}

    // MARK: calls from the attempt

    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream? {
        channel.eventLoop.assertInEventLoop()
        let bytes = try RequestWriter.head(attempt, expects: expects)
        guard !isClosed, let context else { return nil }
        let mayReplay = Replay.isIdempotent(attempt.method) && attempt.body.isReplayable
        if machine.requests > 0, machine.isIdle, !mayReplay, isShut(context) {
            finish()
            return nil
        }
        guard machine.begin(method: attempt.method) else { return nil }
        running = Running(user: user, method: attempt.method, isChunked: attempt.body.size == nil)
        context.writeAndFlush(NIOAny(bytes), promise: nil)
        return BegunStream(stream: self, bytes: bytes.readableBytes, number: nil, isReused: machine.isReused)
    }

    /// Whether the server has closed the connection, though the loop has not read so far: a request that may not be
    /// replayed would be lost. Behind TLS, an alert may hide the end.
    private func isShut(_ context: ChannelHandlerContext) -> Bool {
        let isShut = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { descriptor in
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, CInt(clamping: MSG_PEEK) | CInt(clamping: MSG_DONTWAIT))
            return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
        }
        return isShut ?? false
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
        case .leftOver: return isClosed ? () : broke(machine.closed(), nil)
        }
        self.arrival = arrival
        piece = nil
        room.took(arrival.readableBytes, from: channel)
        running.user?.received(arrival.readableBytes)
        switch running.reader {
        case .unknown: readFirst(arrival, data, context)
        case .plain(let left): readBody(arrival, left: left)
        case .parser:
            texts.feed(arrival.readableBytesView)
            context.fireChannelRead(data)
        }
    }

    /// Only `ResponseParts` writes here, and only for the parser.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) { promise?.succeed() }

    private func readFirst(_ arrival: ByteBuffer, _ data: NIOAny, _ context: ChannelHandlerContext) {
        guard let plain = arrival.withUnsafeReadableBytes({ PlainHead($0) }) else {
            guard startParser(context) else { return }
            texts = HeadTexts()
            texts.feed(arrival.readableBytesView)
            return context.fireChannelRead(data)
        }
        received(plain.head)
        guard !isClosed else { return }
        var rest = arrival
        rest.moveReaderIndex(forwardBy: plain.bytes)
        if case .length(let length) = running.framing { readBody(rest, left: length) } else { readBody(rest, left: 0) }
    }

    private func readBody(_ bytes: ByteBuffer, left: Int64) {
        let count = Int64(bytes.readableBytes)
        if left > 0, count > 0 {
            // safe: less than the count, which is an Int
            let piece = count <= left ? bytes : bytes.getSlice(at: bytes.readerIndex, length: Int(left)) ?? bytes
            running.user?.bodyCame(piece)
            guard !isClosed else { return }
        }
        if count < left {
            running.reader = .plain(left: left - count)
        } else {
            ended(trailers: [], isClean: count == left)
        }
    }

    /// Passes the whole response through the parser, which must know the request's method to read the response to a
    /// HEAD.
    private func startParser(_ context: ChannelHandlerContext) -> Bool {
        running.reader = .parser
        do {
            let parts = try self.parts ?? ResponseParts.install(behind: self, in: context.pipeline)
            self.parts = parts
            parts.expectResponse(to: running.method)
            return true
        } catch {
            broke(.inHead, error)
            return false
        }
    }

    /// A part of the response from the parser.
    func parsed(_ part: HTTPClientResponsePart) {
        guard !isClosed else { return }
        switch part {
        case .head(let head): received(ResponseHead(head, texts: texts.next()))
        case .body(let bytes):
            piece = bytes
            running.user?.bodyCame(bytes)
        case .end(let trailers): ended(trailers: trailers.map(HTTPFields.init) ?? [], isClean: isCleanEnd)
        }
    }

    private func ended(trailers: HTTPFields, isClean: Bool) {
        running.reader = .unknown
        running.ending = machine.bodyEnded() == .reuse && isClean ? .reuse : .close
        let user = running.user
        running.user = nil
        user?.completed(trailers: trailers)
    }

    /// Whether no bytes follow the end of the response, not even half a line.
    private var isCleanEnd: Bool {
        switch running.framing {
        case .length(let length) where length > 0: piece.map { arrival.ends(with: $0) } ?? false
        default: arrival.endsInEmptyLine
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        arrival = ByteBuffer()
        piece = nil
        defer { if parts != nil { context.fireChannelReadComplete() } }
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
                if case .length(let length) = framing { room.expect(length, from: channel) }
                running.user?.responded(head, framing, stopSending: stopSending)
            }
        } catch {
            broke(.inHead, error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    /// The parser refuses the bytes, or the connection broke.
    func failed(_ error: any Error) {
        guard !isClosed else { return }
        switch error {
        case HTTPParserError.invalidEOFState: broke(machine.closed(), nil)
        case is HTTPParserError, is NIOHTTPDecoderError:
            broke(running.framing == nil ? .inHead : .inBody, error)
        default:
            // a broken connection ends no body, not even a body that is delimited by the close
            let close = machine.closed()
            broke(close == .endsBody ? .inBody : close, error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // the parser may be waiting for the end of the input
        context.fireChannelInactive()
        if !isClosed { broke(machine.closed(), nil) }
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
    fileprivate static var tooManyInformational: HTTPFailure {
        let text = "the server sent more than \(HTTP1Limits.informational) informational answers"
        return HTTPFailure(.limitExceeded, text, phase: .firstByte, sent: .sent)
    }
}
