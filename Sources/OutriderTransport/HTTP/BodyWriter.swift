// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderHTTP

/// Writes the body of a request that did not go out with its head: in pieces, a bounded number of bytes ahead of the
/// kernel, so that neither memory nor the event loop ever holds the whole.
///
/// A body whose length is not known goes out in chunks (RFC 9112 section 7.1).
// proof: every method runs on the connection's loop; other threads only carry the reference.
final class BodyWriter: @unchecked Sendable {
    static let pieceBytes = 128 << 10
    static let aheadBytes = 512 << 10

    enum Step {
        /// The kernel has taken so many more bytes, and so many of the body in all.
        case sent(Int, inAll: Int64)
        case finished
        case failed(HTTPFailure)
    }

    private let connection: HTTP1Connection
    /// Nil if it goes out in chunks.
    private let size: Int64?
    private let isMemory: Bool
    private var source: any BodySource
    private var tell: ((Step) -> Void)?
    private var taken: Int64 = 0
    private var acknowledged: Int64 = 0
    private var isReading = false
    private var isFilling = false
    private var isHeld = false
    private var isAtEnd = false
    /// Writes that the kernel has not taken yet.
    private var unfinished = 0

    /// Nil if nothing of the body is left to be written.
    ///
    /// - Parameter all: whether even a short body did not go out with the head.
    init?(_ body: AttemptBody, all: Bool, to connection: HTTP1Connection, files: NIOThreadPool) {
        let loop = connection.channel.eventLoop
        switch body {
        case .none: return nil
        case .bytes(let bytes):
            guard all || bytes.count > RequestWriter.joinedBodyBytes else { return nil }
            source = MemorySource(bytes)
            isMemory = true
        case .file(let path, let size):
            source = ReadSource([.file(path: path, size: size, pointer: nil)], files: files, loop: loop)
            isMemory = false
        case .composed(let body):
            source = Self.source(body, files, loop)
            isMemory = false
        }
        size = body.size
        self.connection = connection
    }

    private static func source(_ body: ComposedBody, _ files: NIOThreadPool, _ loop: any EventLoop) -> any BodySource {
        var sources: [any BodySource] = []
        var read: [ComposedBody.Piece] = []
        func flush() {
            if !read.isEmpty { sources.append(ReadSource(read, files: files, loop: loop)) }
            read = []
        }
        for piece in body.pieces {
            guard case .feed(let feed, let length, let pointer) = piece else {
                read.append(piece)
                continue
            }
            flush()
            sources.append(FeedSource(feed, length: length, pointer: pointer, loop: loop))
        }
        flush()
        let all = sources.count == 1 ? sources[0] : SequenceSource(sources)
        return body.coding.map { CodedSource(all, $0, files: files, loop: loop) } ?? all
    }

    /// Whether something has been asked for that may not be had twice, or be another the second time.
    private(set) var hasBegun = false

    func start(_ tell: @escaping (Step) -> Void) {
        self.tell = tell
        hasBegun = !isMemory && size != 0
        isAtEnd = size == 0
        fill()
        // an empty body
        finishIfDone()
    }

    /// Nothing more is written until `release`; what is on its way arrives.
    func hold() { isHeld = true }

    func release() {
        isHeld = false
        if tell != nil { fill() }
    }

    /// Nothing more is written or told.
    func stop() {
        tell = nil
        source.stop()
        source = MemorySource([])
    }

    /// Sends until enough is on its way. A write may end before it returns and call this again: then the loop that runs
    /// already goes on. After some pieces others get their turn on the event loop.
    private func fill() {
        guard !isFilling, !isHeld else { return }
        isFilling = true
        defer { isFilling = false }
        var turn = 8
        while tell != nil, !isReading, !isHeld, !isAtEnd,
            taken - acknowledged <= Int64(Self.aheadBytes - Self.pieceBytes)
        {
            guard turn > 0 else { return connection.channel.eventLoop.assumeIsolated().execute { self.fill() } }
            turn -= 1
            isReading = true
            source.next { self.took($0) }
        }
    }

    private func took(_ result: Result<ByteBuffer?, HTTPFailure>) {
        isReading = false
        guard tell != nil else { return }
        switch result {
        case .success(let piece?):
            taken &+= Int64(piece.readableBytes)  // safe: an Int is an Int64
            if let size {
                guard taken <= size else { return fail(Self.tooLong) }
                isAtEnd = taken == size
            }
            send(piece)
            fill()
        case .success(nil):
            isAtEnd = true
            guard size == nil else { return fail(Self.tooShort) }
            send(ByteBuffer())
        case .failure(let failure): fail(failure)
        }
    }

    private static let tooLong = HTTPFailure(
        .bodyUnreadable, "the body gave more bytes than it was to have", phase: .request)
    private static let tooShort = HTTPFailure(
        .bodyUnreadable, "the body gave fewer bytes than it was to have", phase: .request)

    private func send(_ piece: ByteBuffer) {
        let count = piece.readableBytes
        let bytes = size == nil ? Self.chunk(piece) : piece
        unfinished += 1
        connection.send(bytes).assumeIsolated().whenComplete { result in
            self.unfinished -= 1
            // if the write failed, the connection says why
            guard case .success = result, let tell = self.tell else { return }
            self.acknowledged &+= Int64(count)  // safe: an Int is an Int64
            tell(.sent(bytes.readableBytes, inAll: self.acknowledged))
            if !self.finishIfDone() { self.fill() }
        }
    }

    /// One chunk; that of no bytes is the last.
    private static func chunk(_ piece: ByteBuffer) -> ByteBuffer {
        var chunk = ByteBuffer()
        chunk.reserveCapacity(piece.readableBytes + 16)
        chunk.writeString(String(piece.readableBytes, radix: 16))
        chunk.writeStaticString("\r\n")
        chunk.writeImmutableBuffer(piece)
        chunk.writeStaticString("\r\n")
        return chunk
    }

    @discardableResult
    private func finishIfDone() -> Bool {
        guard isAtEnd, unfinished == 0, let tell else { return false }
        stop()
        tell(.finished)
        return true
    }

    private func fail(_ failure: HTTPFailure) {
        let tell = tell
        stop()
        tell?(.failed(failure))
    }
}
