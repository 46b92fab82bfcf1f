// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Writes the body of a request that did not go out with its head: in pieces, at most two ahead of the kernel,
/// so that neither memory nor the event loop ever holds the whole body. The next piece is read while the previous is
/// written.
///
/// The stream puts the pieces into the form of its protocol.
// proof: every method runs on the connection's loop; other threads only carry the reference.
final class BodyWriter: @unchecked Sendable {
    /// Two pieces: the first is written while the second is read.
    private static let piecesAhead = 2

    enum Step {
        /// The kernel has taken more bytes. `inAll`: total before compression; `onWire`: total after compression, nil
        /// without.
        case sent(Int, inAll: Int64, onWire: Int64?)
        case finished
        case failed(HTTPFailure)
    }

    private let stream: any AttemptStream
    private let loop: any EventLoop
    /// Nil if unknown.
    private let size: Int64?
    private let isMemory: Bool
    /// Whether the body counts among the many.
    private var isCounted = true
    private let isCoded: Bool
    private let shelf = BufferShelf()
    private var source: any BodySource
    private var tell: ((Step) -> Void)?
    /// Pieces read but not yet given to the connection, in order.
    private var waiting = CircularBuffer<BodyPiece>()
    private var taken: Int64 = 0
    private var acknowledged: Int64 = 0
    /// Bytes that the stream has got, and how many of them were received at the last `takeProgress`.
    private var handed: Int64 = 0
    private var received: Int64 = 0
    /// Sent bytes, counted before compression.
    private var plain: Int64 = 0
    private var isReading = false
    private var isFilling = false
    private var isWriting = false
    private var isHeld = false
    private var isAtEnd = false
    /// Writes that the kernel has not taken yet.
    private var unfinished = 0

    /// Nil if the head went out with the whole body.
    ///
    /// - Parameter all: whether even a short body did not go out with the head.
    init?(of attempt: Attempt, all: Bool, to stream: any AttemptStream, on loop: any EventLoop) {
        var composed: ComposedBody?
        switch attempt.body {
        case .none: return nil
        case .bytes(let bytes):
            guard all || bytes.count > RequestWriter.joinedBodyBytes else { return nil }
            source = MemorySource(bytes)
        case .file(let path, let size):
            source = MemorySource([])
            composed = ComposedBody([.file(path: path, size: size, pointer: nil)])
        case .composed(let body):
            source = MemorySource([])
            composed = body
        }
        size = attempt.body.size
        isMemory = composed == nil
        isCoded = composed?.coding != nil
        self.stream = stream
        self.loop = loop
        BodyCrowd.enter()
        if let composed { source = self.source(composed, attempt.bodyHolder, attempt.client) }
    }

    deinit { uncount() }

    private func uncount() {
        if isCounted { BodyCrowd.leave() }
        isCounted = false
    }

    private func source(
        _ body: ComposedBody, _ holder: (any BodyHolder)?, _ client: ClientKey
    ) -> any BodySource {
        let all = Self.source(body.pieces, of: holder, client, shelf, loop)
        return body.coding.map { CodedSource(all, $0, client: client, loop: loop) } ?? all
    }

    /// The pieces in sequence, before any compression.
    static func source(
        _ pieces: [ComposedBody.Piece], of holder: (any BodyHolder)?, _ client: ClientKey, _ shelf: BufferShelf,
        _ loop: any EventLoop
    ) -> any BodySource {
        var sources: [any BodySource] = []
        var read: [ComposedBody.Piece] = []
        func flush() {
            if !read.isEmpty { sources.append(ReadSource(read, of: holder, shelf: shelf, client: client, loop: loop)) }
            read = []
        }
        for piece in pieces {
            guard case .feed(let feed, let length, let pointer) = piece else {
                read.append(piece)
                continue
            }
            flush()
            sources.append(FeedSource(feed, length: length, pointer: pointer, loop: loop))
        }
        flush()
        return sources.count == 1 ? sources[0] : SequenceSource(sources)
    }

    /// Whether the body may be unreadable, or different, a second time.
    var isUnrepeatable: Bool { !isMemory && size != 0 }

    /// Bytes that the server has received since the last call.
    func takeProgress() -> Int {
        let now = handed &- Int64(stream.unsent)  // safe: an Int is an Int64
        guard now > received else { return 0 }
        defer { received = now }
        return Int(clamping: now &- received)
    }

    func start(_ tell: @escaping (Step) -> Void) {
        self.tell = tell
        isAtEnd = size == 0
        fill()
        // an empty body
        finishIfDone()
    }

    /// Pauses writing until `release`; pending writes complete.
    func hold() { isHeld = true }

    func release() {
        isHeld = false
        advance()
    }

    /// Ends writing and reporting.
    func stop() {
        tell = nil
        waiting = []
        source.stop()
        source = MemorySource([])
        uncount()
    }

    // MARK: reading

    /// Requests pieces up to `piecesAhead`. A piece may come before `source.next` returns: then the outer call
    /// continues. Yields to other work on the event loop after eight pieces.
    private func fill() {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        var turn = 8
        while tell != nil, !isReading, !isHeld, !isAtEnd,
            taken - acknowledged <= Int64((Self.piecesAhead - 1) * BodyCrowd.pieceBytes)
        {
            guard turn > 0 else { return loop.assumeIsolated().execute { self.fill() } }
            turn -= 1
            isReading = true
            source.next { self.took($0) }
        }
    }

    private func took(_ result: Result<BodyPiece?, HTTPFailure>) {
        isReading = false
        guard tell != nil else { return }
        switch result {
        case .success(let piece?):
            taken &+= Int64(piece.bytes.readableBytes)  // safe: an Int is an Int64
            if let size {
                guard taken <= size else { return fail(Self.tooLong) }
                isAtEnd = taken == size
            }
            waiting.append(piece)
            // reads the next piece while this piece is written
            fill()
            advance()
        case .success(nil):
            isAtEnd = true
            guard size == nil else { return fail(Self.tooShort) }
            // marks the end of the body
            waiting.append(BodyPiece(ByteBuffer()))
            write()
        case .failure(let failure): fail(failure)
        }
    }

    private static let tooLong = HTTPFailure(
        .bodyUnreadable, "the body gave more bytes than it was to have", phase: .request)
    private static let tooShort = HTTPFailure(
        .bodyUnreadable, "the body gave fewer bytes than it was to have", phase: .request)

    // MARK: writing

    private func advance() {
        write()
        fill()
        finishIfDone()
    }

    private func write() {
        guard !isWriting else { return }
        isWriting = true
        defer { isWriting = false }
        while tell != nil, !isHeld, let piece = waiting.popFirst() { send(piece) }
    }

    private func send(_ piece: BodyPiece) {
        let count = piece.bytes.readableBytes
        unfinished += 1
        handed &+= Int64(count)  // safe: an Int is an Int64
        stream.send(piece.bytes, isLast: isAtEnd && waiting.isEmpty).assumeIsolated().whenComplete { result in
            self.unfinished -= 1
            guard self.tell != nil else { return }
            // if the write failed, the connection says why
            guard case .success(let bytes) = result else { return self.stop() }
            self.shelf.put(piece.bytes)
            self.completed(count, onWire: bytes, plain: piece.plain)
            self.advance()
        }
    }

    private func completed(_ count: Int, onWire: Int, plain: Int) {
        acknowledged &+= Int64(count)  // safe: an Int is an Int64
        self.plain &+= Int64(plain)  // safe: an Int is an Int64
        _ = takeProgress()
        tell?(.sent(onWire, inAll: self.plain, onWire: isCoded ? acknowledged : nil))
    }

    private func finishIfDone() {
        guard isAtEnd, unfinished == 0, waiting.isEmpty, let tell else { return }
        stop()
        tell(.finished)
    }

    private func fail(_ failure: HTTPFailure) {
        let tell = tell
        stop()
        tell?(.failed(failure))
    }
}
