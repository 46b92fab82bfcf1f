// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC
import Synchronization

/// Bytes from a client for a body: the stream buffers writes, within bounds, until the network takes the bytes.
///
///     open ──finish──▶ finished ──all taken──▶ done
///       └───────────────drop──────┴──────────▶ done
final class UploadStream: Holdable, BodyFeed {
    static let kind = HandleKind.stream
    /// A write returns once no more than this is waiting.
    static let capacity = 256 << 10
    /// The most bytes that may wait in all, from all writers.
    static let limit = 16 << 20

    fileprivate enum Phase { case open, finished, done }

    fileprivate enum Piece {
        /// Not counted: at most `LongBody.counted` bytes of a stream in all.
        case short([UInt8])
        /// From the offset on. It may wait in a file.
        case long(LongBody, offset: Int)
    }

    /// What the network gets next.
    private enum Next {
        case step(BodyFeedStep)
        case fetch(any SpilledPayload, offset: Int, count: Int)
    }

    struct State: ~Copyable {
        fileprivate var phase = Phase.open
        /// The client finished the stream; stays true after any end.
        var wasFinished = false
        var isTaken = false
        /// A second connection feeds the stream.
        var isAttached = false
        fileprivate var pieces: [Piece] = []
        /// Bytes in the pieces.
        var waiting = 0
        /// Bytes in the short pieces, which are the last ones.
        var uncounted = 0
        /// Bytes in total.
        var written = 0
        /// The length that the request has promised; nil without a promise.
        var most: Int64?
        var hand: (@Sendable (BodyFeedStep) -> Void)?
        /// Writers that wait for room.
        var writers: [AsyncSignal] = []
        /// Why the service ended the stream; nil for other ends.
        var failure: HTTPFailure?

        /// Queues bytes. With `isCounted`, many short pieces become a long body, which the caller must settle.
        mutating func append(_ bytes: [UInt8], isCounted: Bool) -> LongBody? {
            waiting += bytes.count
            guard isCounted, uncounted + bytes.count > LongBody.counted else {
                uncounted += bytes.count
                pieces.append(.short(bytes))
                return nil
            }
            let long = LongBody(gathered(bytes))
            pieces.append(.long(long, offset: 0))
            return long
        }

        /// The last short pieces, which leave the queue, and then these bytes.
        private mutating func gathered(_ bytes: [UInt8]) -> [UInt8] {
            guard uncounted > 0 else { return bytes }
            var whole: [UInt8] = []
            whole.reserveCapacity(uncounted + bytes.count)
            var first = pieces.endIndex
            while first > 0, case .short = pieces[first - 1] { first -= 1 }
            for case .short(let piece) in pieces[first...] { whole += piece }
            pieces.removeSubrange(first...)
            uncounted = 0
            whole += bytes
            return whole
        }
    }

    let state = Mutex(State())
    /// Nil for the body of a request.
    private let tcp: String?

    /// Whether only the connection that opened the stream can give its bytes, as on stdio.
    private let isOfOne: Bool

    /// - Parameter tcp: the endpoint of a TCP stream; nil for the body of a request.
    init(tcp: String? = nil, isOfOne: Bool = false) {
        self.tcp = tcp
        self.isOfOne = isOfOne
    }

    /// Bytes written so far.
    var written: Int { state.withLock { $0.written } }

    /// Whether more may be written.
    var isOpen: Bool { state.withLock { $0.phase == .open } }

    // MARK: calls from the client

    enum Outcome {
        /// The number of bytes that may follow without waiting.
        case room(Int)
        /// The stream has been finished, or its bytes are no longer needed.
        case wrongState(String)
        /// The TCP stream failed.
        case failed(HTTPFailure)
        case tooMuch
    }

    /// Takes all bytes, and returns when there is room for more, or after `wait`.
    func write(_ bytes: [UInt8], wait: Duration) async throws -> Outcome {
        if let refusal = take(bytes) { return refusal }
        return .room(try await room(wait))
    }

    /// Takes all bytes; not nil if they are refused.
    ///
    /// - Parameters:
    ///   - memory: counts bytes that wait, or moves them to files; nil without a limit.
    ///   - message: the memory of the message with the bytes, which is released then.
    func take(
        _ bytes: [UInt8], memory: (any PayloadMemory)? = nil, message: (any PayloadCharge)? = nil
    ) -> Outcome? {
        var long: LongBody?
        var excess: HTTPFailure?
        let (outcome, ready) = state.withLock { state -> (Outcome?, (@Sendable () -> Void)?) in
            switch state.phase {
            case .finished: return (refusal(isFinished: true), nil)
            case .done: return (refusal(isFinished: tcp != nil && state.wasFinished, state.failure), nil)
            case .open: break
            }
            // safe: an Int is an Int64
            if let most = state.most, Int64(bytes.count) > most - Int64(state.written) {
                let failure = Self.tooLong(most)
                excess = failure
                return (.wrongState(failure.message), nil)
            }
            guard state.waiting + bytes.count <= max(Self.limit, bytes.count) else { return (.tooMuch, nil) }
            state.written &+= bytes.count
            if bytes.isEmpty { return (nil, nil) }
            long = state.append(bytes, isCounted: memory != nil)
            guard let hand = state.hand, case .step(let step)? = Self.takePiece(&state) else { return (nil, nil) }
            state.hand = nil
            return (nil, { hand(step) })
        }
        if let excess { end(excess) }
        if let outcome { return outcome }
        ready?()
        guard let long, let memory else {
            message?.release()
            return nil
        }
        // until the bytes are in a file
        message?.giveWay()
        long.settle(memory, after: message) { [weak self] hasRoom in
            if hasRoom { return }
            memory.countRefusal()
            self?.end(Self.full)
        }
        return nil
    }

    private func refusal(isFinished: Bool, _ failure: HTTPFailure? = nil) -> Outcome {
        guard let tcp else {
            if let failure { return .wrongState(failure.message) }
            return .wrongState(isFinished ? "the stream has been finished" : Self.over.message)
        }
        if isFinished {
            return .failed(HTTPFailure(.writeAfterFinish, "the stream to \(tcp) was finished: no bytes can follow"))
        }
        return .failed(HTTPFailure(.tcpClosed, "the stream to \(tcp) is closed", sent: .notSent))
    }

    /// Returns when there is room, or after `wait`: how many bytes may follow without waiting.
    func room(_ wait: Duration) async throws -> Int {
        let signal = AsyncSignal()
        let deadline = ContinuousClock.now.advanced(by: wait)
        while true {
            let isOver = ContinuousClock.now >= deadline
            let room = state.withLock { state in
                let room = state.phase == .done ? Self.capacity : max(0, Self.capacity - state.waiting)
                // of calls that wait alone: a client may ask forever
                state.writers.removeAll { $0 === signal }
                if room == 0, !isOver { state.writers.append(signal) }
                return room
            }
            if room > 0 || isOver { return room }
            await signal.wait(until: deadline)
            try Task.checkCancellation()
        }
    }

    /// Ends the body. Returns the total of bytes, or why the body could not be finished.
    func finish() -> Result<Int, RPCError> {
        let (result, hand) = state.withLock { state -> (Result<Int, RPCError>, (@Sendable (BodyFeedStep) -> Void)?) in
            guard state.phase != .done || state.isTaken else {
                return (.failure(RPCError.wrongState("the stream is closed", "closed")), nil)
            }
            if state.phase == .open {
                state.phase = .finished
                state.wasFinished = true
            }
            defer { state.hand = nil }
            return (.success(state.written), state.hand)
        }
        hand?(.end)
        return result
    }

    // MARK: raw bytes

    /// Reserves the stream for a second connection. Throws `wrongState`.
    func attach() throws(RPCError) {
        let refusal = state.withLock { state -> RPCError? in
            if state.isAttached { return .wrongState("another connection feeds the stream", "writing") }
            // the end of a TCP stream closes this direction too, and received bytes can still be read
            let isLost = tcp != nil && state.phase == .done && !state.wasFinished
            guard state.phase == .open || isLost else {
                return .wrongState("the stream is finished, or closed", "closed")
            }
            state.isAttached = true
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Reads the input of that connection, as fast as the network takes the bytes, until its end.
    ///
    /// A connection that closes without ending its input has not finished the body, and neither has a connection that
    /// declared a size and sent less: the body is then broken, not short.
    func fill(from pipe: any RawPipe, _ size: Int?) async {
        pipe.whenMoved { [weak self] in if pipe.isGone { self?.pipeIsGone() } }
        var count = 0
        while true {
            switch await pipe.read() {
            case .bytes(let bytes):
                count += bytes.count
                if let size, count > size { return give(up: pipe, Self.unexpected(size, "more")) }
                guard case .room? = try? await write(bytes, wait: .seconds(86400)) else { return give(up: pipe) }
            case .end:
                if let size, count < size { return give(up: pipe, Self.unexpected(size, "only \(count)")) }
                _ = finish()
                return pipe.finish()
            case .gone: return give(up: pipe)
            }
        }
    }

    private func give(up pipe: any RawPipe, _ failure: HTTPFailure? = nil) {
        end(failure)
        pipe.abort()
    }

    private static func unexpected(_ size: Int, _ given: String) -> HTTPFailure {
        let text = "the attached connection was to give \(size) bytes, its size, and gave \(given)"
        return HTTPFailure(.inputStreamReadFailed, text, phase: .request)
    }

    /// No connection will finish the body any more.
    private func pipeIsGone() {
        if state.withLock({ $0.phase == .open }) { end() }
    }

    // MARK: calls from the request

    var isFresh: Bool { state.withLock { !$0.isTaken && $0.phase != .done } }

    /// Whether a request has claimed the stream.
    var isTaken: Bool { state.withLock { $0.isTaken } }

    func take() -> Bool { take(most: nil) }

    /// - Parameter most: the length that the request promises; a write of more ends the stream.
    func take(most: Int64?) -> Bool {
        state.withLock { state in
            if state.isTaken { return false }
            // a stream that is over says so at the first read
            (state.isTaken, state.most) = (true, most)
            return true
        }
    }

    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void) {
        let (next, signals) = state.withLock { state -> (Next?, [AsyncSignal]) in
            if state.phase != .done, let next = Self.takePiece(&state) {
                guard state.waiting < Self.capacity else { return (next, []) }
                defer { state.writers = [] }
                return (next, state.writers)
            }
            switch state.phase {
            case .open:
                state.hand = hand
                return (nil, [])
            case .finished: return (.step(.end), [])
            case .done: return (.step(.failed(state.failure ?? Self.closed)), [])
            }
        }
        for signal in signals { signal.ring() }
        switch next {
        case nil: break
        case .step(let step): hand(step)
        case .fetch(let file, let offset, let count):
            file.read(at: offset, count: count) { bytes in
                if let bytes, bytes.count == count { return hand(.bytes(bytes)) }
                let text = "bytes of the stream that waited in a file cannot be read"
                hand(.failed(HTTPFailure(.inputStreamReadFailed, text, phase: .request)))
            }
        }
    }

    /// The next bytes that wait; nil if there are none.
    private static func takePiece(_ state: inout State) -> Next? {
        switch state.pieces.first {
        case nil: return nil
        case .short(let bytes):
            state.pieces.removeFirst()
            state.waiting -= bytes.count
            state.uncounted -= bytes.count
            return .step(.bytes(bytes))
        case .long(let body, let offset):
            let end = min(offset + LongBody.pieceBytes, body.count)
            state.waiting -= end - offset
            let place = body.place
            if end == body.count {
                state.pieces.removeFirst()
                body.end()
            } else {
                state.pieces[0] = .long(body, offset: end)
            }
            switch place {
            case .memory(let bytes): return .step(.bytes(Array(bytes[offset..<end])))
            case .file(let file): return .fetch(file, offset: offset, count: end - offset)
            }
        }
    }

    func drop() { end(tcp == nil ? Self.over : nil) }

    // MARK: Holdable

    /// True: a request waits for the stream, or is still to come. False if the body can never be finished.
    var isAwaited: Bool { !isOfOne || !isOpen }

    var isOver: Bool { state.withLock { $0.phase == .done } }

    func close() { end() }

    private static let closed = HTTPFailure(
        .inputStreamReadFailed, "the client closed the stream before it was finished", phase: .request)

    private static let over = HTTPFailure(
        .inputStreamReadFailed, "the stream is over: the request that took it has ended", phase: .request)

    private static func tooLong(_ most: Int64) -> HTTPFailure {
        HTTPFailure(
            .inputStreamReadFailed, "the stream was to give \(most) bytes, its length, and gave more", phase: .request)
    }

    private static let full = HTTPFailure(
        .limitExceeded,
        "the memory of the service and the client's files are full (write after the server has read, or raise --memory)",
        phase: .request)

    /// - Parameter failure: why the body fails. Default: the client closed the stream.
    private func end(_ failure: HTTPFailure? = nil) {
        let (hand, signals) = state.withLock { state -> ((@Sendable (BodyFeedStep) -> Void)?, [AsyncSignal]) in
            if state.phase != .done { state.failure = failure }
            state.phase = .done
            state.pieces = []
            (state.waiting, state.uncounted) = (0, 0)
            defer { (state.hand, state.writers) = (nil, []) }
            return (state.hand, state.writers)
        }
        hand?(.failed(failure ?? Self.closed))
        for signal in signals { signal.ring() }
    }
}
