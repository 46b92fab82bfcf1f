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

    private enum Phase { case open, finished, done }

    private struct State: ~Copyable {
        var phase = Phase.open
        /// The client finished the stream; stays true after any end.
        var wasFinished = false
        var isTaken = false
        /// A second connection feeds the stream.
        var isAttached = false
        var pieces: [[UInt8]] = []
        /// Bytes in the pieces.
        var waiting = 0
        /// Bytes in total.
        var written = 0
        var hand: (@Sendable (BodyFeedStep) -> Void)?
        /// Writers that wait for room.
        var writers: [Bell] = []
    }

    private let state = Mutex(State())
    /// Nil for the body of a request.
    private let tcp: String?

    /// - Parameter tcp: the endpoint of a TCP stream; nil for the body of a request.
    init(tcp: String? = nil) { self.tcp = tcp }

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
        let (outcome, ready) = state.withLock { state -> (Outcome?, (@Sendable (BodyFeedStep) -> Void)?) in
            switch state.phase {
            case .finished: return (refusal(isFinished: true), nil)
            case .done: return (refusal(isFinished: tcp != nil && state.wasFinished), nil)
            case .open: break
            }
            guard state.waiting + bytes.count <= max(Self.limit, bytes.count) else { return (.tooMuch, nil) }
            state.written &+= bytes.count
            if bytes.isEmpty { return (nil, nil) }
            if let hand = state.hand {
                state.hand = nil
                return (nil, hand)
            }
            state.pieces.append(bytes)
            state.waiting += bytes.count
            return (nil, nil)
        }
        if let outcome { return outcome }
        ready?(.bytes(bytes))
        return .room(try await room(wait))
    }

    private func refusal(isFinished: Bool) -> Outcome {
        guard let tcp else {
            let text = isFinished ? "has been finished" : "is over: the request that took it has ended"
            return .wrongState("the stream " + text)
        }
        if isFinished {
            return .failed(HTTPFailure(.writeAfterFinish, "the stream to \(tcp) was finished: no bytes can follow"))
        }
        return .failed(HTTPFailure(.tcpClosed, "the stream to \(tcp) is closed", sent: .notSent))
    }

    private func room(_ wait: Duration) async throws -> Int {
        let bell = Bell()
        let deadline = ContinuousClock.now.advanced(by: wait)
        var alarm: Task<Void, Never>?
        defer { alarm?.cancel() }
        while true {
            let room = state.withLock { state in
                let room = state.phase == .done ? Self.capacity : max(0, Self.capacity - state.waiting)
                if room == 0 { state.writers.append(bell) }
                return room
            }
            if room > 0 || ContinuousClock.now >= deadline { return room }
            // Ends with this write; only rings.
            alarm =
                alarm
                ?? Task {
                    try? await Task.sleep(until: deadline, clock: .continuous)
                    bell.ring()
                }
            await bell.wait()
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
            guard state.phase == .open else { return .wrongState("the stream is finished, or closed", "closed") }
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
                if let size, count > size { return give(up: pipe) }
                guard case .room? = try? await write(bytes, wait: .seconds(86400)) else { return give(up: pipe) }
            case .end:
                if let size, count < size { return give(up: pipe) }
                _ = finish()
                return pipe.finish()
            case .gone: return give(up: pipe)
            }
        }
    }

    private func give(up pipe: any RawPipe) {
        end()
        pipe.abort()
    }

    /// No connection will finish the body any more.
    private func pipeIsGone() {
        if state.withLock({ $0.phase == .open }) { end() }
    }

    // MARK: calls from the request

    var isFresh: Bool { state.withLock { !$0.isTaken && $0.phase != .done } }

    func take() -> Bool {
        state.withLock { state in
            defer { state.isTaken = true }
            return !state.isTaken && state.phase != .done
        }
    }

    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void) {
        let (step, bells) = state.withLock { state -> (BodyFeedStep?, [Bell]) in
            if !state.pieces.isEmpty, state.phase != .done {
                let piece = state.pieces.removeFirst()
                state.waiting -= piece.count
                guard state.waiting < Self.capacity else { return (.bytes(piece), []) }
                defer { state.writers = [] }
                return (.bytes(piece), state.writers)
            }
            switch state.phase {
            case .open:
                state.hand = hand
                return (nil, [])
            case .finished: return (.end, [])
            case .done:
                let text = "the client closed the stream before it was finished"
                return (.failed(HTTPFailure(.inputStreamReadFailed, text, phase: .request)), [])
            }
        }
        for bell in bells { bell.ring() }
        if let step { hand(step) }
    }

    func drop() { end() }

    // MARK: Holdable

    /// True: a request waits for the stream, or is still to come.
    var isAwaited: Bool { true }

    var isOver: Bool { state.withLock { $0.phase == .done } }

    func close() { end() }

    private func end() {
        let (hand, bells) = state.withLock { state -> ((@Sendable (BodyFeedStep) -> Void)?, [Bell]) in
            state.phase = .done
            state.pieces = []
            state.waiting = 0
            defer { (state.hand, state.writers) = (nil, []) }
            return (state.hand, state.writers)
        }
        let text = "the client closed the stream before it was finished"
        hand?(.failed(HTTPFailure(.inputStreamReadFailed, text, phase: .request)))
        for bell in bells { bell.ring() }
    }
}
