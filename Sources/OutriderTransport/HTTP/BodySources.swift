// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A source of body pieces. Used on a single event loop.
protocol BodySource: AnyObject {
    typealias Hand = (Result<BodyPiece?, HTTPFailure>) -> Void

    /// Gives the next piece to `hand`, once: at once, or later on the loop. Nil at the end. Called again only
    /// afterwards.
    func next(_ hand: @escaping Hand)

    /// Ends the source; no more pieces are needed.
    func stop()
}

extension BodySource {
    func stop() {}
}

/// Bytes in memory.
final class MemorySource: BodySource {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    func next(_ hand: @escaping Hand) {
        let piece = bytes.prefix(BodyCrowd.pieceBytes)
        bytes = bytes.dropFirst(piece.count)
        hand(.success(piece.isEmpty ? nil : BodyPiece(ByteBuffer(bytes: piece))))
    }

    func stop() { bytes = [] }
}

/// Bytes in memory and in files, which are read on other threads.
final class ReadSource: BodySource {
    /// Nil only while the source ends.
    private var reader: PieceReader?
    private let shelf: BufferShelf
    private let client: ClientKey
    private let loop: any EventLoop

    /// - Parameter holder: keeps the memory of the pieces counted.
    init(
        _ pieces: [ComposedBody.Piece], of holder: (any BodyHolder)?, shelf: BufferShelf, client: ClientKey,
        loop: any EventLoop
    ) {
        reader = PieceReader(pieces, of: holder)
        self.shelf = shelf
        self.client = client
        self.loop = loop
    }

    func next(_ hand: @escaping Hand) {
        guard let reader else { return }
        reader.lend(shelf.take())
        BlockingThreads.files.run(for: client, on: loop, hand) { () throws(HTTPFailure) in
            try reader.read(most: BodyCrowd.pieceBytes).map { BodyPiece($0) }
        }
    }

    /// Closing a file may block.
    deinit {
        let last = reader.take()
        BlockingThreads.files.run(for: client, isOwed: true) { withExtendedLifetime(last) {} }
    }
}

/// Bytes that a client feeds while the body is sent.
// proof: its methods run on the loop; other threads only carry the reference.
final class FeedSource: BodySource, @unchecked Sendable {
    private let feed: any BodyFeed
    private let length: Int64?
    private let pointer: String?
    private let loop: any EventLoop
    private var isTaken = false
    private var taken: Int64 = 0
    private var rest = ByteBuffer()
    private var hand: Hand?

    init(_ feed: any BodyFeed, length: Int64?, pointer: String?, loop: any EventLoop) {
        self.feed = feed
        self.length = length
        self.pointer = pointer
        self.loop = loop
    }

    func next(_ hand: @escaping Hand) {
        if let piece = piece() { return hand(.success(piece)) }
        // the declared length is reached: the client need not report the end
        if let length, taken == length { return hand(.success(nil)) }
        if !isTaken {
            guard feed.take() else {
                let text = "the stream has been sent before: what a client feeds can be sent once"
                return hand(.failure(failure(text)))
            }
            isTaken = true
        }
        self.hand = hand
        feed.next { step in
            if self.loop.inEventLoop { self.took(step) } else { self.loop.execute { self.took(step) } }
        }
    }

    func stop() {
        hand = nil
        if isTaken { feed.drop() }
    }

    private func piece() -> BodyPiece? {
        let count = min(BodyCrowd.pieceBytes, rest.readableBytes)
        return count == 0 ? nil : rest.readSlice(length: count).map { BodyPiece($0) }
    }

    private func took(_ step: BodyFeedStep) {
        guard let hand else { return }
        self.hand = nil
        switch step {
        case .bytes(let bytes):
            taken &+= Int64(bytes.count)  // safe: an Int is an Int64
            if let length, taken > length { return hand(.failure(unexpected(length))) }
            rest = ByteBuffer(bytes: bytes)
            hand(.success(piece()))
        case .end:
            if let length, taken != length { return hand(.failure(unexpected(length))) }
            hand(.success(nil))
        case .failed(var failure):
            failure.pointer = failure.pointer ?? pointer
            hand(.failure(failure))
        }
    }

    private func unexpected(_ length: Int64) -> HTTPFailure {
        failure("the stream was to give \(length) bytes, and gave \(taken > length ? "more" : "only \(taken)")")
    }

    private func failure(_ text: String) -> HTTPFailure {
        HTTPFailure(.inputStreamReadFailed, text, phase: .request, pointer: pointer)
    }
}

/// Several sources in sequence.
final class SequenceSource: BodySource {
    private var sources: ArraySlice<any BodySource>

    init(_ sources: [any BodySource]) { self.sources = sources[...] }

    func next(_ hand: @escaping Hand) {
        guard let source = sources.first else { return hand(.success(nil)) }
        source.next { result in
            if case .success(nil) = result {
                self.sources = self.sources.dropFirst()
                return self.next(hand)
            }
            hand(result)
        }
    }

    func stop() {
        for source in sources { source.stop() }
        sources = []
    }
}

/// A source, compressed on other threads.
final class CodedSource: BodySource {
    private let source: any BodySource
    private let stream: any CompressionStream
    private let client: ClientKey
    private let loop: any EventLoop
    private var isAtEnd = false
    /// Compressed bytes without output so far.
    private var swallowed = 0

    init(
        _ source: any BodySource, _ coding: BodyCoding, client: ClientKey, loop: any EventLoop
    ) {
        self.source = source
        stream = coding.makeStream()
        self.client = client
        self.loop = loop
    }

    func next(_ hand: @escaping Hand) {
        if isAtEnd { return hand(.success(nil)) }
        let stream = stream
        source.next { result in
            switch result {
            case .failure: hand(result)
            case .success(let piece):
                self.isAtEnd = piece == nil
                self.swallowed += piece?.plain ?? 0
                BlockingThreads.computing.run(for: self.client, on: self.loop, { self.compressed($0, hand) }) {
                    () throws(HTTPFailure) in
                    if let piece { return BodyPiece(try stream.compress(piece.bytes)) }
                    return BodyPiece(try stream.finish())
                }
            }
        }
    }

    private func compressed(_ result: Result<BodyPiece?, HTTPFailure>, _ hand: @escaping Hand) {
        guard case .success(.some(var piece)) = result else { return hand(result) }
        // zlib buffers less than a block
        if piece.bytes.readableBytes == 0 { return next(hand) }
        piece.plain = swallowed
        swallowed = 0
        hand(.success(piece))
    }

    func stop() { source.stop() }
}

extension BlockingThreads {
    /// Runs the work, and hands its result over on the loop.
    fileprivate func run(
        for client: ClientKey, on loop: any EventLoop, _ hand: @escaping BodySource.Hand,
        _ work: @escaping @Sendable () throws(HTTPFailure) -> BodyPiece?
    ) {
        let hand = NIOLoopBound(hand, eventLoop: loop)
        let isTaken = run(for: client) {
            let result = Result { () throws(HTTPFailure) in try work() }
            loop.execute { hand.value(result) }
        }
        if !isTaken {
            let text = "the body cannot be read: too much work on files waits for this client (wait until some is done)"
            hand.value(.failure(HTTPFailure(.bodyUnreadable, text, phase: .request, retryable: true)))
        }
    }
}
