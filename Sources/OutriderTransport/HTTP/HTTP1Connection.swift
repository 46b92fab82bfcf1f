// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOHTTP1
import NIOSSL
import OutriderHTTP

/// Runs `HTTP1Machine` over a channel: one request at a time, whose answer it reads no faster than it is wanted.
///
/// While it is idle one read stays asked for, so that a server's end, or its bytes, are noticed at once.
///
/// It stands next to the wire. Answers of the plain form it reads itself, for that costs a fifth; all others, from their
/// first byte to their last, go to a parser behind it, and come back from there as parts.
// proof: every method runs on the channel's event loop and asserts it; other threads only carry the reference.
final class HTTP1Connection: ChannelDuplexHandler, AttemptConnection, AttemptStream, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = ByteBuffer

    /// Who reads the answer.
    private enum Reader {
        /// Its first bytes will tell.
        case unknown
        /// We do; so many bytes of the body are to come.
        case plain(left: Int64)
        case parser
    }

    let id: PoolMachine.ConnectionID
    let key: PoolKey
    let facts: ConnectionFacts
    let channel: any Channel
    /// Given back when the connection ends.
    let place: ConnectionPlace
    /// The pool that gets it back; it outlives its connections.
    private let pool: ConnectionPool

    private var machine = HTTP1Machine()
    private var user: (any ConnectionUser)?
    private var context: ChannelHandlerContext?
    private var reader = Reader.unknown
    /// Behind the parser, once there was an answer that needed one.
    private var parts: AnswerParts?
    /// Of the running request, or the last.
    private var method = ""
    private var framing: BodyFraming?
    private var informationalHeads = 0
    /// The last read from the network and the last piece of a body in it, while they are being looked at.
    private var arrival = ByteBuffer()
    private var piece: ByteBuffer?
    private var ending: HTTP1Machine.End?
    private var room = ReadRoom()
    private var isClosed = false
    /// Who uses it, or did last.
    private(set) var holder: PoolHolder
    /// Whether an attempt has it, or is about to; otherwise the pool has it.
    private var isLent = true
    /// Whether the body of the running request goes out in chunks (RFC 9112 section 7.1).
    private var isChunked = false
    /// The user of the running request did not want the last read to be followed by another.
    private var isPaused = false
    /// The state of the trusted roots under which it was made.
    let generation: Int

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

    /// Puts this connection behind what the channel has already.
    func install() throws { try channel.pipeline.syncOperations.addHandler(self) }

    var isReused: Bool { machine.isReused }

    // MARK: what the pool wants

    func reserve(for holder: PoolHolder) {
        self.holder = holder
        isLent = true
    }

    func close() {
        channel.eventLoop.assertInEventLoop()
        user = nil
        isLent = false
        guard !isClosed else { return }
        isClosed = true
        channel.close(promise: nil)
        place.giveBack()
    }

    func drain() {}

    // MARK: what the attempt wants

    func begin(
        _ attempt: Attempt, expects: Bool, for user: any ConnectionUser
    ) throws(HTTPFailure) -> BegunStream? {
        channel.eventLoop.assertInEventLoop()
        let bytes = try RequestWriter.head(attempt, expects: expects)
        guard !isClosed, let context, machine.begin(method: attempt.method) else { return nil }
        self.user = user
        method = attempt.method
        isChunked = attempt.body.size == nil
        reader = .unknown
        framing = nil
        ending = nil
        isPaused = false
        informationalHeads = 0
        context.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil)
        return BegunStream(stream: self, bytes: bytes.readableBytes, number: nil, isReused: machine.isReused)
    }

    func decline() {
        guard isLent, user == nil else { return }
        isLent = false
        pool.takeBack(self)
    }

    /// Ends the connection: what it was to bring cannot be told from what follows.
    func cancel() {
        let wasLent = isLent
        close()
        if wasLent { pool.ended(self) }
    }

    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let bytes = isChunked ? Self.chunk(piece) : piece
        let count = bytes.readableBytes
        guard !isClosed, let context else {
            promise.fail(ChannelError.ioOnClosedChannel)
            return promise.futureResult.map { 0 }
        }
        context.writeAndFlush(Self.wrapOutboundOut(bytes), promise: promise)
        return promise.futureResult.map { count }
    }

    /// One chunk (RFC 9112 section 7.1); that of no bytes is the last.
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
        guard isPaused, !isClosed, user?.wantsMore() == true else { return }
        isPaused = false
        context?.read()
    }

    // MARK: what the channel says

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        context.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let arrival = Self.unwrapInboundIn(data)
        switch machine.bytesReceived(beginsAnswer: arrival.beginsLikeAnswer) {
        case .wanted: break
        // nobody asked: what follows an answer could be taken for the next one
        case .unasked: return isClosed ? () : broke(.quiet, nil)
        case .leftOver: return isClosed ? () : broke(machine.closed(), nil)
        }
        self.arrival = arrival
        piece = nil
        room.took(arrival.readableBytes, from: channel)
        user?.heard(arrival.readableBytes)
        switch reader {
        case .unknown: readFirst(arrival, data, context)
        case .plain(let left): readBody(arrival, left: left)
        case .parser: context.fireChannelRead(data)
        }
    }

    /// The only thing that the parser's side writes is for the parser.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) { promise?.succeed() }

    private func readFirst(_ arrival: ByteBuffer, _ data: NIOAny, _ context: ChannelHandlerContext) {
        guard let plain = arrival.withUnsafeReadableBytes({ PlainHead($0) }) else {
            guard startParser(context) else { return }
            return context.fireChannelRead(data)
        }
        received(plain.head)
        guard !isClosed else { return }
        var rest = arrival
        rest.moveReaderIndex(forwardBy: plain.bytes)
        if case .length(let length) = framing { readBody(rest, left: length) } else { readBody(rest, left: 0) }
    }

    private func readBody(_ bytes: ByteBuffer, left: Int64) {
        let count = Int64(bytes.readableBytes)
        if left > 0, count > 0 {
            // safe: less than the count, which is an Int
            let piece = count <= left ? bytes : bytes.getSlice(at: bytes.readerIndex, length: Int(left)) ?? bytes
            user?.bodyCame(piece)
            guard !isClosed else { return }
        }
        if count < left { reader = .plain(left: left - count) } else { ended(trailers: [], isClean: count == left) }
    }

    /// All of this answer goes through the parser, which must know what the request was to read the answer to a HEAD.
    private func startParser(_ context: ChannelHandlerContext) -> Bool {
        reader = .parser
        do {
            let parts = try self.parts ?? AnswerParts.install(behind: self, in: context.pipeline)
            self.parts = parts
            parts.expectAnswer(to: method)
            return true
        } catch {
            broke(.inHead, error)
            return false
        }
    }

    /// What the parser found.
    func parsed(_ part: HTTPClientResponsePart) {
        guard !isClosed else { return }
        switch part {
        case .head(let head): received(ResponseHead(head))
        case .body(let bytes):
            piece = bytes
            user?.bodyCame(bytes)
        case .end(let trailers): ended(trailers: trailers.map(HTTPFields.init) ?? [], isClean: isCleanEnd)
        }
    }

    private func ended(trailers: HTTPFields, isClean: Bool) {
        reader = .unknown
        ending = machine.bodyEnded() == .reuse && isClean ? .reuse : .close
        let user = user
        self.user = nil
        user?.completed(trailers: trailers)
    }

    /// Whether nothing came behind the end of the answer, not even half a line.
    private var isCleanEnd: Bool {
        switch framing {
        case .length(let length) where length > 0: piece.map { arrival.ends(with: $0) } ?? false
        default: arrival.endsInEmptyLine
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        arrival = ByteBuffer()
        piece = nil
        defer { if parts != nil { context.fireChannelReadComplete() } }
        guard !isClosed else { return }
        switch ending {
        case nil:
            guard let user else { break }
            isPaused = !user.wantsMore()
            if !isPaused { context.read() }
        case .reuse:
            ending = nil
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
                informationalHeads += 1
                guard informationalHeads <= HTTP1Limits.informational else { throw HTTPFailure.tooManyInformational }
                user?.informational(head)
            case .answer(let framing, let stopSending):
                self.framing = framing
                user?.responded(head, framing, stopSending: stopSending)
            }
        } catch {
            broke(.inHead, error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    /// The parser refuses what came, or the connection broke.
    func failed(_ error: any Error) {
        guard !isClosed else { return }
        switch error {
        case HTTPParserError.invalidEOFState: broke(machine.closed(), nil)
        case is HTTPParserError, is NIOHTTPDecoderError:
            broke(framing == nil ? .inHead : .inBody, error)
        default:
            // a connection that breaks ends no body, not even one that ends with the connection
            let close = machine.closed()
            broke(close == .endsBody ? .inBody : close, error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // the parser may have been waiting for just that
        context.fireChannelInactive()
        if !isClosed { broke(machine.closed(), nil) }
    }

    private func broke(_ end: ConnectionEnd, _ error: (any Error)?) {
        let user = user
        let wasLent = isLent
        close()
        // first, since the place of a connection that died belongs to the request that is sent again
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
