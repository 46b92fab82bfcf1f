// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// The body of a response between the wire and its reader: queues received bytes, and decodes them on demand.
struct BodyQueue {
    typealias Hand = (Result<ByteBuffer?, HTTPFailure>) -> Void

    /// Limit of queued bytes; above it, reading from the network stops.
    static let roomBytes = 64 << 10
    /// Pieces below this size are joined.
    private static let smallBytes = 8 << 10

    enum Next {
        case piece(ByteBuffer)
        case end
        case failed(HTTPFailure)
        case wait
    }

    private enum Tail {
        case open
        case ended
        case failed(HTTPFailure)
    }

    private let host: String
    private let mostBytes: Int?
    /// The first piece, without which there are no others: most bodies are a single piece, and need no list.
    private var front: ByteBuffer?
    /// The pieces behind, from `first` on.
    private var pieces: [ByteBuffer] = []
    private var first = 0
    private var queuedBytes = 0
    /// Bytes that left the queue since the last `takeConsumed`.
    private var consumedBytes = 0
    private var tail = Tail.open
    private var decoder: ContentDecoder?
    private var waiting: Hand?
    private var framing = BodyFraming.none
    private var bytesIn: Int64 = 0
    private var bytesOut: Int64 = 0
    private(set) var trailers: HTTPFields = []

    init(host: String, mostBytes: Int?) {
        self.host = host
        self.mostBytes = mostBytes
    }

    var hasRoom: Bool { queuedBytes < Self.roomBytes }
    var isAwaited: Bool { waiting != nil }

    /// Length on the wire; nil if not declared or hidden by a coding.
    var expectedBytes: Int64? {
        guard decoder == nil else { return nil }
        switch framing {
        case .none: return 0
        case .length(let length): return length
        case .chunked, .untilClose: return nil
        }
    }

    /// Received bytes, and the total if declared.
    var progress: (got: Int64, of: Int64?) {
        if case .length(let length) = framing { return (bytesIn, length) }
        return (bytesIn, nil)
    }

    /// Whether the body is compressed.
    private(set) var isCoded = false

    mutating func begin(_ head: ResponseHead, _ framing: BodyFraming, decodes: Bool) {
        self.framing = framing
        // a part of an encoded body cannot be decoded
        guard decodes, framing != .none, head.status != 206 else { return }
        let codings = head.fields.all("Content-Encoding")
        if !codings.isEmpty { decoder = ContentDecoder(codings: codings, host: host) }
        isCoded = decoder != nil
    }

    mutating func append(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        bytesIn &+= Int64(count)
        // a piece that waits would keep all the memory into which it was read
        let bytes = queuedBytes < Self.roomBytes ? bytes : ByteBuffer(bytes: bytes.readableBytesView)
        queuedBytes += count
        guard let lastBytes = pieces.last?.readableBytes ?? front?.readableBytes else {
            front = bytes
            return
        }
        guard count < Self.smallBytes, lastBytes < Self.smallBytes else { return pieces.append(bytes) }
        if pieces.isEmpty {
            front?.writeImmutableBuffer(bytes)
        } else {
            pieces[pieces.count - 1].writeImmutableBuffer(bytes)
        }
    }

    /// Discards queued bytes.
    mutating func dropPieces() {
        front = nil
        pieces = []
        first = 0
        queuedBytes = 0
    }

    mutating func end(_ trailers: HTTPFields) {
        self.trailers = trailers
        tail = .ended
    }

    /// Ends the body with a failure, after the queued bytes. Returns the completion of a waiting reader, to be called
    /// with the failure.
    mutating func fail(_ failure: HTTPFailure) -> Hand? {
        if case .ended = tail { return nil }
        tail = .failed(failure)
        return takeWaiting()
    }

    mutating func next() -> Next {
        do throws(HTTPFailure) {
            while true {
                if let decoded = try decoder?.next() { return .piece(try counted(decoded)) }
                guard let piece = takeFirst() else { break }
                guard decoder != nil else { return .piece(try counted(piece)) }
                decoder?.feed(piece)
            }
            switch tail {
            case .open: return .wait
            case .failed(let failure): return .failed(failure)
            case .ended:
                try decoder?.finish()
                return .end
            }
        } catch {
            tail = .failed(error)
            decoder = nil
            dropPieces()
            return .failed(error)
        }
    }

    mutating func wait(_ hand: @escaping Hand) { waiting = hand }

    mutating func takeWaiting() -> Hand? {
        defer { waiting = nil }
        return waiting
    }

    /// Bytes on the wire that the reader has taken since the last call.
    mutating func takeConsumed() -> Int {
        defer { consumedBytes = 0 }
        return consumedBytes
    }

    private mutating func takeFirst() -> ByteBuffer? {
        guard let piece = front else { return nil }
        if first < pieces.count {
            front = pieces[first]
            pieces[first] = ByteBuffer()
            first += 1
            if first == pieces.count {
                pieces.removeAll(keepingCapacity: true)
                first = 0
            }
        } else {
            front = nil
        }
        queuedBytes -= piece.readableBytes
        consumedBytes &+= piece.readableBytes
        return piece
    }

    private mutating func counted(_ piece: ByteBuffer) throws(HTTPFailure) -> ByteBuffer {
        bytesOut &+= Int64(piece.readableBytes)
        guard let mostBytes, bytesOut > Int64(mostBytes) else { return piece }  // safe: an Int is an Int64
        throw HTTPFailure(bodyFrom: host, isLongerThan: mostBytes)
    }
}
