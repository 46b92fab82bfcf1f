// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON
import OutriderRPC

/// Actions that a decision under the lock leaves for the time after its release.
struct Effects {
    /// A flush must be scheduled.
    var flush = false
    /// No more output follows soon: write at once.
    var isLast = false
    /// The outbox is large: write at once if on the event loop.
    var isLong = false
    /// The client reads slowly: `watch` must be started.
    var watches = false
    /// Reading must be stopped or resumed, by the state at the time of the action.
    var changesReading = false
    /// Deliver the queue, then close.
    var finish = false
    /// Close, unless events are still due to the client.
    var settles = false
    /// There may be room for raw bytes.
    var moved: RawConnection?
    /// Tasks that waited for room and can continue.
    var admitted: [CheckedContinuation<Void, any Error>] = []
}

/// The mutable state of a connection, guarded by its lock. Decides without side effects.
struct ConnectionState: ~Copyable {
    enum Phase {
        case open
        /// No more calls will come; running calls get their replies, then the connection ends.
        case ending
        /// Only the queued messages are still delivered.
        case finishing
        /// The connection carries raw bytes, and no messages any more.
        case raw
        case closed
    }

    enum PendingCallback {
        case reserved
        case waiting(CheckedContinuation<CallbackResponse, any Error>)
        /// Over before the caller began to wait.
        case over(Result<CallbackResponse, RPCError>)
    }

    var calls: CallMachine
    var outbox: OutboxMachine
    var batches = BatchMachine()
    var callbacks: [Int64: PendingCallback] = [:]
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    var nextWaiter = 0
    var terms = PeerTerms()
    var framing = Framing.line
    var phase = Phase.open
    /// The pipe of the call that has hijacked the connection.
    var raw: RawConnection?
    /// The client has ended its input, and work that the client started may still send events.
    var mayOwe = false
    /// The frame feed has paused reading while another thread parses.
    var feedBusy = false
    /// The outbox is over its limit: no more calls are read, or started.
    private(set) var outboxFull = false
    /// Whether `watch` is running.
    private var isWatched = false
    /// A flush is scheduled.
    private var flushing = false
    /// The next bytes, if they come from a file. They have left the outbox.
    private var filePiece: FilePiece?
    /// Long bodies that are not counted yet, and so not written.
    private var uncounted: [UncountedBody] = []
    /// The buffer of the last write, whose memory is reused once the wire has released the bytes.
    private var written = ByteBuffer()

    init(limits: ServerLimits) {
        calls = CallMachine(limits: limits.calls)
        outbox = OutboxMachine(limits: limits.outbox)
    }

    // MARK: output

    mutating func push(_ outgoing: Outgoing) -> Effects {
        if phase == .raw { return Effects() }
        var frame = outgoing.frame(framing)
        if frame.count > LongBody.counted, let long = frame.lengthen() {
            uncounted.append(UncountedBody(long, of: outgoing))
        }
        return push(frame)
    }

    private mutating func push(_ frame: OutgoingFrame) -> Effects {
        var effects = Effects()
        switch outbox.push(frame) {
        case .queued, .refused: break
        case .pause:
            outboxFull = true
            effects.changesReading = true
            effects.watches = !isWatched
            isWatched = true
        }
        effects.flush = wantsFlush()
        effects.isLong = outbox.isLong
        return effects
    }

    /// Checks whether the client reads any of the outbox.
    mutating func check(unwritten: Int) -> OutboxMachine.Check {
        let check = phase == .closed ? .over : outbox.check(unwritten: unwritten &+ (filePiece?.count ?? 0))
        isWatched = check == .again
        guard check == .giveUp else { return check }
        let error = RPCError(
            .clientTooSlow, "the client does not read; the connection is closed",
            data: ["limit": .integer(Int64(outbox.mostUnread))])
        outbox.lastWord(Outgoing.error(nil, error).frame(framing))
        phase = .finishing
        return check
    }

    /// True if the caller must schedule a flush.
    mutating func wantsFlush() -> Bool {
        defer { flushing = true }
        return !flushing && phase != .closed
    }

    /// Queues the reply to a call, or fills its place in a batch.
    mutating func deliver(_ outgoing: Outgoing, to place: BatchPlace?) -> Effects {
        let outgoing = withinTerms(outgoing)
        guard let place else { return push(outgoing) }
        var reply = outgoing.frame(nil)
        guard let long = reply.lengthen() else { return fill(place, reply) }
        // fills its place once it is counted
        uncounted.append(UncountedBody(long, of: outgoing, UncountedBody.Member(place: place, reply: reply)))
        return Effects(flush: wantsFlush())
    }

    mutating func fill(_ place: BatchPlace?, _ reply: OutgoingFrame?) -> Effects {
        guard let place else { return settled() }
        if phase == .raw { return Effects() }
        switch batches.fill(place, reply) {
        case .waiting, .nothing: return settled()
        case .complete(let replies):
            var effects = Effects()
            for frame in OutgoingFrame.batch(replies, framing) {
                let more = push(frame)
                effects.flush = effects.flush || more.flush
                effects.watches = effects.watches || more.watches
                effects.changesReading = effects.changesReading || more.changesReading
                effects.isLong = more.isLong
            }
            return effects
        }
    }

    /// Replaces a reply over the client's `maxMessageBytes` with an error.
    private func withinTerms(_ outgoing: Outgoing) -> Outgoing {
        guard let limit = terms.maxMessageBytes, case .result(let id, let text) = outgoing else { return outgoing }
        guard text.size + 64 > limit else { return outgoing }
        let count = outgoing.frame(.line).messageBytes
        guard count > limit else { return outgoing }
        return .error(
            id,
            RPCError(
                code: 1411, "the reply of \(count) bytes is over the client's maxMessageBytes",
                data: ["limit": .integer(Int64(limit))]))
    }

    /// After a step that queued nothing: an ending connection may be done now.
    private mutating func settled() -> Effects {
        var effects = Effects()
        if phase == .ending { effects.flush = wantsFlush() }
        return effects
    }

    enum Gathered {
        /// Count these, which were queued since the last step; what has no room is to be refused.
        case count([UncountedBody])
        case bytes(ByteBuffer)
        /// Read this part of a file, and give it to `fetched`.
        case fetch(any SpilledPayload, Range<Int>)
    }

    /// Whether a flush would change nothing, as after a read whose calls have no replies so far.
    mutating func isFlushed() -> Bool {
        guard phase == .open, raw == nil, outbox.isQuiet, isWritten, uncounted.isEmpty, waiters.isEmpty else {
            return false
        }
        flushing = false
        return true
    }

    /// The next step of a flush; nil if there is nothing to write, or the next bytes wait for a file.
    ///
    /// - Parameter isWritable: whether the wire takes bytes.
    mutating func gather(isWritable: Bool = true) -> Gathered? {
        flushing = false
        if !uncounted.isEmpty {
            defer { uncounted = [] }
            return .count(uncounted)
        }
        guard isWritable else { return nil }
        switch filePiece?.next() {
        case .fetch(let file, let range): return .fetch(file, range)
        case .wait: return nil
        case .write(let bytes):
            filePiece = nil
            return .bytes(bytes)
        case nil: break
        }
        guard !outbox.isEmpty else { return nil }
        let most = 64 << 10
        var buffer = ByteBuffer()
        swap(&buffer, &written)
        buffer.clear(minimumCapacity: min(outbox.unsent, most))
        while buffer.readableBytes < most, let piece = outbox.next(most: most &- buffer.readableBytes) {
            guard let long = piece.frame.long else {
                piece.forEach { buffer.writeBytes($0) }
                continue
            }
            filePiece = buffer.write(piece, of: long)
            if filePiece != nil { break }
        }
        if buffer.capacity <= most &* 2 { written = buffer }
        if buffer.readableBytes > 0 { return .bytes(buffer) }
        return filePiece == nil ? nil : gather()
    }

    /// A part of a file was read.
    mutating func fetched(_ bytes: [UInt8]) { filePiece?.fetched(bytes) }

    /// Whether all messages have been given to the wire.
    var isWritten: Bool { outbox.isEmpty && filePiece == nil }

    /// The client is gone: nothing will be written.
    mutating func dropOutput(_ limits: OutboxLimits) {
        outbox = OutboxMachine(limits: limits)
        filePiece = nil
        uncounted = []
    }

    /// The actions that are possible after a flush.
    mutating func flushed() -> Effects {
        var effects = Effects()
        effects.moved = raw
        if outbox.resumes() {
            outboxFull = false
            effects.changesReading = true
        }
        if outbox.hasRoom {
            if !waiters.isEmpty {
                effects.admitted = Array(waiters.values)
                waiters = [:]
            }
            if let dropped = outbox.takeDropped(), phase != .finishing {
                effects.flush = push(.event(Event("event.dropped", DroppedParams(count: dropped)))).flush
            }
        }
        guard isWritten, raw == nil else { return effects }
        let isIdle = phase == .ending && calls.isIdle && batches.isEmpty
        if isIdle, mayOwe {
            effects.settles = true
        } else if isIdle || phase == .finishing {
            phase = .finishing
            effects.finish = true
        }
        return effects
    }

    /// Whether the client can get no more messages.
    var isBeyondMessages: Bool { phase == .closed || phase == .finishing || phase == .raw }

    /// Whether the feed may resume reading after parsing.
    var mayRead: Bool { !outboxFull && phase == .open }

    /// Whether to read from the client now; nil if the feed, or the end of the connection, decides.
    var reads: Bool? { phase == .open && !feedBusy ? !outboxFull : nil }

    // MARK: callbacks to the client

    /// Ends a callback. Returns the continuation to resume, if the caller waits already.
    mutating func settle(
        _ callback: Int64, _ result: Result<CallbackResponse, RPCError>
    ) -> CheckedContinuation<CallbackResponse, any Error>? {
        switch callbacks[callback] {
        case .waiting(let continuation):
            callbacks[callback] = nil
            return continuation
        case .reserved:
            callbacks[callback] = .over(result)
            return nil
        case .over, nil: return nil
        }
    }
}

private struct DroppedParams: JSONEncodable {
    var count: Int

    func encode(to writer: inout JSONWriter) {
        writer.object { $0.member("count", count) }
    }
}

extension ByteBuffer {
    /// Writes a piece of a long body, or returns the piece if its bytes are in a file.
    fileprivate mutating func write(_ piece: OutgoingPiece, of body: LongBody) -> FilePiece? {
        switch body.place {
        case .file(let file): return FilePiece(piece, in: file)
        case .memory(let bytes): piece.forEach(body: bytes, from: 0) { writeBytes($0) }
        }
        if piece.isLast { body.end() }
        return nil
    }
}
