// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON
import OutriderRPC

/// What has to be done outside the lock after something was decided inside it.
struct Effects {
    /// A flush must be scheduled.
    var flush = false
    /// Nothing else will follow in a while: it is written now.
    var isLast = false
    /// Much waits: what the client takes of it is written now, if this is the loop.
    var isLong = false
    /// The client takes little: `watch` must be started.
    var watches = false
    /// Reading is to be stopped, or may go on: what holds by then is to be done.
    var changesReading = false
    /// Deliver what is queued, then close.
    var finish = false
    /// Close, unless the client is still to hear of something.
    var settles = false
    /// Bytes may have room.
    var moved: RawConnection?
    /// Tasks that wait for room may go on.
    var admitted: [CheckedContinuation<Void, any Error>] = []
}

/// What carries a call, and can be told to end it.
enum RunningCall {
    case task(Task<Void, Never>)
    case lane(any BegunCall)

    func cancel() {
        switch self {
        case .task(let task): task.cancel()
        case .lane(let call): call.cancel()
        }
    }
}

/// Everything that changes while a connection lives, guarded by its lock. Decides; does nothing.
struct ConnectionState: ~Copyable {
    enum Phase {
        case open
        /// No more calls will come; those running are answered, then the connection ends.
        case ending
        /// Only what is queued is still delivered.
        case finishing
        /// It carries bytes, and no messages any more.
        case raw
        case closed
    }

    enum PendingQuestion {
        case reserved
        case waiting(CheckedContinuation<JSONValue, any Error>)
        /// Over before anybody could wait.
        case over(Result<JSONValue, RPCError>)
    }

    var calls: CallMachine
    var outbox: OutboxMachine
    var batches = BatchMachine()
    var running: [CallTicket: RunningCall] = [:]
    var questions: [Int64: PendingQuestion] = [:]
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    var nextWaiter = 0
    var terms = PeerTerms()
    var framing = Framing.line
    var phase = Phase.open
    /// Who has seized the connection for bytes of its own.
    var raw: RawConnection?
    /// The client has ended its input, and what it started may go on without it.
    var mayOwe = false
    /// The frame feed has stopped reading while it parses elsewhere.
    var feedBusy = false
    /// Too much waits to be written: no more calls are read, or started.
    private(set) var outboxFull = false
    /// Somebody looks whether the client takes anything.
    private var isWatched = false
    /// A flush is on its way.
    private var flushing = false
    /// What was last written, whose memory is used again once the wire has let go of it.
    private var written = ByteBuffer()

    init(limits: ServerLimits) {
        calls = CallMachine(limits: limits.calls)
        outbox = OutboxMachine(limits: limits.outbox)
    }

    // MARK: output

    mutating func push(_ outgoing: Outgoing) -> Effects { push(outgoing.frame(framing)) }

    mutating func push(_ frame: OutgoingFrame) -> Effects {
        var effects = Effects()
        if phase == .raw { return effects }
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

    /// Looks whether the client takes anything of what waits for it.
    mutating func check(unwritten: Int) -> OutboxMachine.Check {
        let check = phase == .closed ? .over : outbox.check(unwritten: unwritten)
        isWatched = check == .again
        guard check == .giveUp else { return check }
        let error = RPCError(.clientTooSlow, "the client does not read; the connection is closed")
        outbox.lastWord(Outgoing.error(nil, error).frame(framing))
        phase = .finishing
        return check
    }

    /// True if the caller has to see to it that a flush comes.
    mutating func wantsFlush() -> Bool {
        defer { flushing = true }
        return !flushing && phase != .closed
    }

    /// Queues the reply to a call, or fills its place in a batch.
    mutating func deliver(_ outgoing: Outgoing, to place: BatchPlace?) -> Effects {
        guard let place else { return push(withinTerms(outgoing)) }
        return fill(place, withinTerms(outgoing).item)
    }

    mutating func fill(_ place: BatchPlace?, _ reply: [UInt8]?) -> Effects {
        guard let place else { return settled() }
        switch batches.fill(place, reply) {
        case .waiting, .nothing: return settled()
        case .complete(let bytes): return push(.batch(bytes))
        }
    }

    /// A reply longer than the client said it can read becomes an error that says so.
    private func withinTerms(_ outgoing: Outgoing) -> Outgoing {
        guard let limit = terms.maxMessageBytes, case .result(let id, let text) = outgoing else { return outgoing }
        guard text.bytes.count + 64 > limit else { return outgoing }
        let count = outgoing.frame(.line).messageBytes
        guard count > limit else { return outgoing }
        return .error(
            id,
            RPCError(
                code: 1411, "the answer of \(count) bytes is over the client's maxMessageBytes",
                data: ["limit": .integer(Int64(limit))]))
    }

    /// After something that queued nothing: an ending connection may be done now.
    private mutating func settled() -> Effects {
        var effects = Effects()
        if phase == .ending { effects.flush = wantsFlush() }
        return effects
    }

    /// The next bytes to write; nil when there are none.
    mutating func gather() -> ByteBuffer? {
        flushing = false
        guard let first = outbox.next() else { return nil }
        let most = 64 << 10
        var buffer = ByteBuffer()
        swap(&buffer, &written)
        buffer.clear(minimumCapacity: max(first.count, min(first.count &+ outbox.bytes, most)))
        buffer.write(first)
        while buffer.readableBytes < most, let frame = outbox.next() { buffer.write(frame) }
        if buffer.capacity <= most &* 2 { written = buffer }
        return buffer
    }

    /// After a flush: what became possible.
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
        guard outbox.isEmpty, raw == nil else { return effects }
        let isIdle = phase == .ending && calls.isIdle && batches.isEmpty
        if isIdle, mayOwe {
            effects.settles = true
        } else if isIdle || phase == .finishing {
            phase = .finishing
            effects.finish = true
        }
        return effects
    }

    /// Whether nothing but bytes can reach the client now.
    var isBeyondMessages: Bool { phase == .closed || phase == .finishing || phase == .raw }

    /// Whether the feed, which is ready again, may read.
    var mayRead: Bool { !outboxFull && phase == .open }

    /// Whether to read from the client now; nil where others decide that.
    var reads: Bool? { phase == .open && !feedBusy ? !outboxFull : nil }

    // MARK: questions

    /// Ends a question: the continuation to resume, if somebody waits already.
    mutating func settle(
        _ question: Int64, _ result: Result<JSONValue, RPCError>
    ) -> CheckedContinuation<JSONValue, any Error>? {
        switch questions[question] {
        case .waiting(let continuation):
            questions[question] = nil
            return continuation
        case .reserved:
            questions[question] = .over(result)
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
    mutating func write(_ frame: OutgoingFrame) {
        writeBytes(frame.head)
        writeBytes(frame.body)
        writeStaticString(frame.tail)
    }
}
