// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A stream to a client, under its handle: runs a `StreamMachine` between a hub and the client's events or reads.
package final class ReadStream: Holdable {
    package static let kind = HandleKind.stream

    struct Contents: ~Copyable {
        var machine: StreamMachine
        /// The memory of what the machine holds, such as a long item that has not come as a whole.
        var waiting: WaitingMemory
        var isRead = false
        /// The read whose turn it is was cancelled, and ends soon.
        var isReadCancelled = false
        /// Reads of a TCP stream that wait for their turn.
        var readers: [AsyncSignal] = []
        /// The writing direction; nil for a stream that is only read.
        var duplex: (any StreamPartner)?
        /// The WebSocket whose messages the stream delivers; nil for other streams.
        var socket: (any StreamSocket)?
        /// How the WebSocket was closed.
        var close: SocketClose?
        /// The memory of items that came beyond the backlog of a WebSocket.
        var memory: [MemoryCharge] = []
        var isClosed = false
        var look: ItemLook
        /// The kind of items that the first read chose.
        var name: String?
        /// A second connection carries the stream, or is about to.
        var isAttached = false
        var pipe: (any RawPipe)?
        /// A delivery to the second connection is running; `carriesAgain` if more bytes came meanwhile.
        var isCarrying = false
        var carriesAgain = false
        /// Monitors were told of the end.
        var isToldOver = false
        /// An event is being queued.
        var isSending = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// Counts what the machine holds, also beyond the budget. The memory in the result is given back behind the lock.
        mutating func count() -> [MemoryCharge] {
            waiting.fit(machine.kept - memory.reduce(0) { $0 + $1.bytes })
        }
    }

    /// Bytes of a stream that are not counted: those read ahead, and a chunk.
    private static let uncountedBytes = 2 * MemoryBudget.counted

    package let handle = Handle<ReadStream>()
    let isPushed: Bool
    let isBatched: Bool
    let hub: StreamFanout
    let handles: HandleTable
    let contents: Mutex<Contents>
    /// Wakes the call that reads.
    let data = AsyncSignal()

    /// - Parameter quota: of the client whose memory the stream takes.
    init(
        _ machine: consuming StreamMachine, _ look: ItemLook, of hub: StreamFanout, in handles: HandleTable,
        quota: BodyQuota
    ) {
        self.hub = hub
        self.handles = handles
        isPushed = machine.isPush
        isBatched = machine.isBatched
        let waiting = WaitingMemory(quota, free: Self.uncountedBytes)
        contents = Mutex(Contents(machine: machine, waiting: waiting, look: look))
    }

    var look: ItemLook { contents.withLock { $0.look } }

    // MARK: calls from methods

    /// Adds credit to a push stream; nil for a pull stream.
    func grant(_ bytes: Int) -> Int? {
        let credit = contents.withLock { $0.machine.grant(bytes) }
        hub.moved()
        return credit
    }

    enum Outcome {
        case piece(StreamMachine.Piece, end: Bool, failure: HTTPFailure?)
        case wrongMode
        case busy
        case closed
    }

    /// The parameters of a read.
    struct ReadLimits {
        var bytes: Int
        var items: Int
        /// The least number of bytes, unless the stream ends before.
        var least = 1
    }

    /// Waits for an item, the end of the stream or the end of `wait`; in the last case the piece is empty.
    func read(_ options: ReadLimits, wait: Duration) async throws -> Outcome {
        let deadline = ContinuousClock.now.advanced(by: wait)
        switch try await takeTurn(until: deadline) {
        case .refused: return .busy
        // the read whose turn it is goes on
        case .late:
            return .piece(contents.withLock { $0.machine.readNothing(inTurn: false) }, end: false, failure: nil)
        case .taken: break
        }
        defer { passTurn() }
        return try await withTaskCancellationHandler {
            try await read(options, until: deadline)
        } onCancel: {
            contents.withLock { $0.isReadCancelled = true }
        }
    }

    private func read(_ options: ReadLimits, until deadline: ContinuousClock.Instant) async throws -> Outcome {
        if let outcome = try await attempt(options, isLast: ContinuousClock.now >= deadline) { return outcome }
        // Ends with this read; only rings.
        let alarm = Task { [data] in
            try? await Task.sleep(until: deadline, clock: .continuous)
            data.ring()
        }
        defer { alarm.cancel() }
        while true {
            await data.wait()
            try Task.checkCancellation()
            if let outcome = try await attempt(options, isLast: ContinuousClock.now >= deadline) {
                return outcome
            }
        }
    }

    private func attempt(_ options: ReadLimits, isLast: Bool) async throws -> Outcome? {
        while true {
            switch attempt(options, isLast) {
            case .over(let outcome): return outcome
            case .wait: return nil
            case .make(let work): await make(work)
            }
            // the finished item stays for the next read
            try Task.checkCancellation()
        }
    }

    private enum Attempt {
        case over(Outcome)
        case make(@Sendable () -> StreamItem.Content)
        case wait
    }

    /// Builds a long item from its bytes, on another thread.
    private func make(_ work: @escaping @Sendable () -> StreamItem.Content) async {
        let content = await background(work)
        contents.withLock { $0.machine.made(content) }
    }

    private func attempt(_ options: ReadLimits, _ isLast: Bool) -> Attempt {
        let (attempt, ended, _): (Attempt, HTTPFailure?, [MemoryCharge]) = contents.withLock { contents in
            let before = contents.machine.failure
            let attempt: Attempt =
                switch contents.machine.read(upTo: options.bytes, items: options.items, least: options.least) {
                case .piece(let piece, let end):
                    .over(.piece(piece, end: end, failure: end ? contents.machine.failure : nil))
                case .make(let work): .make(work)
                case .wait where isLast: .over(.piece(contents.machine.readNothing(), end: false, failure: nil))
                case .wait: .wait
                case .wrongMode: .over(.wrongMode)
                case .stop: .over(.closed)
                }
            return (attempt, before == nil ? contents.machine.failure : nil, contents.count())
        }
        if case .over(.piece(let piece, let isEnd, _)) = attempt {
            tell(piece)
            if isEnd { tellEnd() }
        }
        if let ended { hub.left(self, ended) } else { hub.moved() }
        return attempt
    }

    // MARK: notes to monitors

    private func tell(_ piece: StreamMachine.Piece) {
        guard !piece.items.isEmpty else { return }
        hub.tell(.streamItem) { .item(stream: handle.name, size: piece.bytes, piece.failure) }
    }

    /// Tells monitors of the end, for whatever reason, once.
    func tellEnd() {
        let (isFirst, size, failure) = contents.withLock { contents in
            defer { contents.isToldOver = true }
            return (!contents.isToldOver, contents.machine.fed, contents.machine.failure)
        }
        if isFirst { hub.tell(.streamEnded) { .item(stream: handle.name, size: size, failure) } }
    }

    /// Reads the stream as other items than bytes, from the first read on. Throws `wrongState` after the first read.
    func become(_ scanner: any ItemScanner, _ look: ItemLook, named name: String) throws(RPCError) {
        let isDone = contents.withLock { contents in
            if contents.name == name { return true }
            guard !isPushed, !contents.isAttached, contents.name == nil, contents.machine.become(scanner) else {
                return false
            }
            contents.look = look
            contents.name = name
            return true
        }
        if !isDone { throw .wrongState("only the first read says what a stream of bytes is read as", "reading") }
    }

    /// Forgets a stream that was never named to its client.
    func discard() {
        handles.remove(handle)
        close()
    }

    /// Ends the stream; after the return no event of the stream is sent.
    func end() async {
        close()
        await withCheckedContinuation { continuation in
            let isQuiet = contents.withLock { contents in
                if contents.isSending { contents.closers.append(continuation) }
                return !contents.isSending
            }
            if isQuiet { continuation.resume() }
        }
    }

    var isClosed: Bool { contents.withLock { $0.isClosed } }

    // MARK: Holdable

    package var isAwaited: Bool { contents.withLock { $0.isRead || $0.isAttached } }

    package func close() {
        let (isFirst, pipe, _) = contents.withLock { contents -> (Bool, (any RawPipe)?, [MemoryCharge]) in
            contents.machine.close()
            defer {
                contents.isClosed = true
                contents.pipe = nil
            }
            return (!contents.isClosed, contents.pipe, contents.count())
        }
        pipe?.abort()
        tellEnd()
        data.ring()
        if isFirst { hub.left(self, nil) }
        duplex?.close()
    }

    // MARK: calls from the hub

    func begin(contentType: String?, size: Int?) {
        let failure = contents.withLock { contents -> HTTPFailure? in
            do throws(HTTPFailure) {
                try contents.machine.begin(contentType: contentType, size: size)
                return nil
            } catch {
                return error
            }
        }
        data.ring()
        if let failure { hub.left(self, failure) }
    }

    func feed(_ bytes: [UInt8]) {
        _ = contents.withLock { contents -> [MemoryCharge] in
            contents.machine.feed(bytes)
            return contents.count()
        }
        data.ring()
    }

    /// Keeps memory as long as the stream exists.
    func keep(_ memory: [MemoryCharge]) { contents.withLock { $0.memory += memory } }

    func bodyEnded() {
        contents.withLock { $0.machine.bodyEnded() }
        data.ring()
    }

    func sourceEnded(_ failure: HTTPFailure?) {
        contents.withLock { $0.machine.sourceEnded(failure) }
        data.ring()
        _ = carry()
    }

    enum Appetite { case hungry, full, over }

    /// Sends the items that credit allows now. One caller at a time.
    func deliver(to peer: any Peer) async -> Appetite {
        if let appetite = carry() { return appetite }
        while true {
            let (step, failure, _) = contents.withLock { contents in
                let step = contents.machine.step()
                switch step {
                case .send, .end: contents.isSending = true
                case .fetch, .make, .wait, .stop: break
                }
                return (step, contents.machine.failure, contents.count())
            }
            switch step {
            case .fetch: return .hungry
            case .make(let work): await make(work)
            case .wait: return .full
            case .stop: return .over
            case .send(let piece):
                let isSent = await send(
                    PieceEvent(stream: handle.name, look: look, isBatched: isBatched, piece: piece), to: peer)
                if isSent { tell(piece) } else { contents.withLock { $0.machine.lost(piece) } }
                sent()
                if !isSent { return .hungry }
            case .end(let sequence, let size):
                let event = EndEvent(
                    stream: handle.name, sequence: sequence, size: size,
                    failure: failure.map { JSONText(written: JSONWriter.bytes(of: FailureShape($0))) },
                    close: socketClose)
                _ = await send(event, to: peer)
                // the reply to a concurrent close follows this event
                release()
                sent()
                tellEnd()
                // unless everything ends, the stream ended by itself
                hub.left(self, failure)
                return .over
            }
        }
    }

    /// False if the client is gone, or the task was cancelled.
    private func send(_ event: some StreamEvent, to peer: any Peer) async -> Bool {
        let isLong = event.expectedBytes > StreamItem.mostAtOnce
        let message = isLong ? await background { Event(event.name, event) } : Event(event.name, event)
        do {
            try await peer.notify(message)
            return true
        } catch {
            return false
        }
    }

    private func sent() {
        let closers = contents.withLock { contents in
            contents.isSending = false
            defer { contents.closers = [] }
            return contents.closers
        }
        for closer in closers { closer.resume() }
    }
}
