// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A request on an HTTP/2 connection, with the bytes of its body that wait for the windows of the server.
final class HTTP2AttemptStream: AttemptStream {
    private struct Piece {
        var bytes: ByteBuffer
        /// Kept when the kernel has all of them.
        let promise: EventLoopPromise<Int>?
        /// Written so far, with the heads of frames.
        var written = 0
    }

    let id: HTTP2StreamID
    private let connection: HTTP2Connection
    private(set) var user: (any ConnectionUser)?
    /// Nil for a request without a body.
    private var pieces: CircularBuffer<Piece>?

    init(_ id: HTTP2StreamID, on connection: HTTP2Connection, for user: any ConnectionUser) {
        self.id = id
        self.connection = connection
        self.user = user
    }

    func send(_ piece: ByteBuffer, isLast: Bool) -> EventLoopFuture<Int> {
        connection.send(piece, isLast: isLast, on: self)
    }

    /// With the bytes of all streams that the connection has written.
    var unsent: Int {
        let waiting = pieces?.reduce(0) { $0 &+ $1.bytes.readableBytes } ?? 0
        return waiting &+ connection.channel.unsentBytes
    }

    func requestSent() {}

    func pauseBody(_ isPaused: Bool) { connection.pauseBody(isPaused, of: self) }

    func consumed(_ bytes: Int) {
        if bytes > 0 { connection.consumed(bytes, on: self) }
    }

    func cancel() { connection.cancel(self) }

    /// The stream is over; returns its user, which is to be told.
    @discardableResult
    func end() -> (any ConnectionUser)? {
        let user = user
        self.user = nil
        dropPieces()
        return user
    }

    func add(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Int>?) {
        if pieces == nil { pieces = CircularBuffer() }
        pieces?.append(Piece(bytes: bytes, promise: promise))
    }

    func dropPieces() {
        guard let dropped = pieces else { return }
        pieces = nil
        for piece in dropped { piece.promise?.fail(ChannelError.ioOnClosedChannel) }
    }

    /// Moves bytes of the body behind the head of their frame. False if there are fewer.
    func write(
        _ count: Int, isLast: Bool, to output: inout ByteBuffer,
        _ done: inout [(promise: EventLoopPromise<Int>, bytes: Int)]
    ) -> Bool {
        var left = count
        // the head of the frame
        var extra = 9
        repeat {
            guard var piece = pieces?.popFirst() else { return left == 0 }
            let taken = min(left, piece.bytes.readableBytes)
            if let slice = piece.bytes.readSlice(length: taken) { output.writeImmutableBuffer(slice) }
            piece.written += taken + extra
            extra = 0
            left -= taken
            if piece.bytes.readableBytes > 0 {
                pieces?.prepend(piece)
            } else if let promise = piece.promise {
                done.append((promise, piece.written))
            }
        } while left > 0
        // an empty last piece needs no frame of its own
        while isLast, let piece = pieces?.popFirst() {
            if let promise = piece.promise { done.append((promise, piece.written)) }
        }
        return true
    }
}

extension HTTP2StreamEnd {
    /// The same in the words of attempts.
    ///
    /// - Parameter error: of the channel.
    func words(_ error: (any Error)?) -> (ConnectionEnd, (any Error)?) {
        switch self {
        case .unprocessed(let fault): (.unprocessed, fault)
        case .passedOver(let fault): (.passedOver, fault)
        case .needsHTTP11: (.needsHTTP11, HTTP2Fault(.http11Required))
        case .reset(let fault, let progress): (progress.end, fault.ofStream)
        case .lost(let fault, let progress): (progress.end, fault ?? error)
        case .failed(let failure): (.inBody, failure)
        }
    }
}

extension HTTP2Progress {
    var end: ConnectionEnd {
        switch self {
        case .beforeResponse(let replayable): .beforeResponse(replayable: replayable)
        case .inHead: .inHead
        case .inBody: .inBody
        }
    }
}
