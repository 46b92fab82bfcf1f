// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A call in progress, within its connection.
package struct CallTicket: Hashable, Sendable {
    package let number: Int
    /// The place in `CallSlots`. A later call may have the same.
    package let slot: Int
}

/// The place of a reply in a batch.
package struct BatchPlace: Equatable, Sendable {
    package let batch: Int
    package let slot: Int

    package init(batch: Int, slot: Int) {
        self.batch = batch
        self.slot = slot
    }
}

package struct CallLimits: Sendable {
    package var callsInFlight = 256
    /// Callbacks to the client that wait for a reply.
    package var callbacks = 64

    package init() {}
}

/// The calls in progress on a connection, both ways.
///
///     open ──shutDown──▶ shut down (calls are refused with invalidRequest)
///     open ──stop──▶ stopping (calls are refused with stopping)
///     any ──inputEnded──▶ the same, but callbacks count as lost
///     any ──close──▶ closed (everything is silent)
///
/// Responsible for: exactly one reply per call; unique ids; the limits; which call is cancelled and how its client is
/// told; ids of callbacks. Not responsible for: tasks, time, order of output.
package struct CallMachine: ~Copyable {
    private enum Cancelled { case no, replied, silent }

    private struct Running {
        var id: RequestID?
        var place: BatchPlace?
        var cancelled = Cancelled.no
        /// Nil until `keep`.
        var call: RunningCall?
    }

    private enum Phase { case open, shutDown, stopping, closed }

    private let limits: CallLimits
    private var phase = Phase.open
    private var hasInput = true
    private var running = CallSlots<Running>()
    /// The number of calls in progress.
    package private(set) var count = 0
    /// Slots that ended calls have left.
    private var freeSlots: [Int] = []
    private var tickets: [RequestID: CallTicket] = [:]
    private var nextTicket = 1
    private var callbacks: Set<Int64> = []
    private var nextCallback = RequestID.callbacks.lowerBound
    /// Calls whose clients wait for a reply.
    package private(set) var owedReplies = 0

    package init(limits: CallLimits = CallLimits()) { self.limits = limits }

    // MARK: calls of the client

    package enum Start: Equatable {
        case run(CallTicket)
        case refuse(id: RequestID?, RPCError)
        /// A notification that the connection does not serve.
        case ignore
    }

    /// A call, or with a nil id a notification, has come.
    package mutating func start(_ id: RequestID?, place: BatchPlace? = nil) -> Start {
        if let id, tickets[id] != nil { return .refuse(id: nil, Self.duplicate(id)) }
        let refusal: RPCError?
        switch phase {
        case .open:
            refusal =
                count < limits.callsInFlight
                ? nil
                : RPCError(
                    .tooMany,
                    "at most \(limits.callsInFlight) calls may be in progress on a connection: wait for replies first",
                    data: ["limit": .integer(Int64(limits.callsInFlight)), "what": .string("callsInFlight")])
        case .shutDown: refusal = RPCError(.invalidRequest, "the connection has been shut down")
        case .stopping: refusal = RPCError(.stopping, "the service is stopping")
        case .closed: return .ignore
        }
        if let refusal { return id == nil ? .ignore : .refuse(id: id, refusal) }
        // without a free slot all slots are taken
        let ticket = CallTicket(number: nextTicket, slot: freeSlots.popLast() ?? count)
        nextTicket &+= 1
        count += 1
        running[ticket] = Running(id: id, place: place)
        if let id {
            tickets[id] = ticket
            owedReplies += 1
        }
        return .run(ticket)
    }

    /// The id for the error reply to a message that never became a call: null if a call with that id is running,
    /// because an id gets one reply.
    package func replyID(_ id: RequestID?) -> RequestID? {
        guard let id, tickets[id] == nil else { return nil }
        return id
    }

    package static func duplicate(_ id: RequestID) -> RPCError {
        RPCError(
            .invalidRequest, "the id \(id.text) belongs to a call that is still running",
            data: ["pointer": .string("/id"), "id": id.json])
    }

    /// How a call's outcome is delivered.
    package enum Finish: Equatable {
        case reply(BatchPlace?, cancelled: Bool)
        /// No reply, but a batch may be waiting for this place. `isUnwanted`: the client has cancelled the call, and
        /// gets no result.
        case silent(BatchPlace?, isUnwanted: Bool = false)
    }

    /// The method has returned or thrown.
    package mutating func finished(_ ticket: CallTicket) -> Finish {
        guard let call = running[ticket] else { return .silent(nil) }
        running[ticket] = nil
        freeSlots.append(ticket.slot)
        count -= 1
        guard let id = call.id else { return .silent(call.place) }
        tickets[id] = nil
        owedReplies -= 1
        if phase == .closed { return .silent(nil) }
        switch call.cancelled {
        case .no: return .reply(call.place, cancelled: false)
        case .replied: return .reply(call.place, cancelled: true)
        case .silent: return .silent(call.place, isUnwanted: true)
        }
    }

    /// Remembers the handle of a call, unless the call has ended. True if the call must be cancelled now.
    package mutating func keep(_ call: RunningCall, _ ticket: CallTicket) -> Bool {
        guard var kept = running[ticket] else { return false }
        kept.call = call
        running[ticket] = kept
        return kept.cancelled != .no || phase == .closed
    }

    /// The handle of a running call; nil if none was kept.
    package func call(_ ticket: CallTicket) -> RunningCall? { running[ticket]?.call }

    /// The handles of all running calls.
    package var handles: [RunningCall] {
        let running = running
        return running.tickets.compactMap { running[$0]?.call }
    }

    /// The call to cancel; nil if no running call has that id, which is not an error.
    package mutating func cancel(_ id: RequestID, silently: Bool) -> CallTicket? {
        guard let ticket = tickets[id] else { return nil }
        running[ticket]?.cancelled = silently ? .silent : .replied
        return ticket
    }

    // MARK: callbacks to the client

    package enum CallbackVerdict: Equatable {
        case send(Int64)
        case refuse(RPCError)
    }

    /// Ids count up, and skip the ids of calls and callbacks in progress.
    package mutating func callback(_ method: String) -> CallbackVerdict {
        guard hasInput, phase != .closed else { return .refuse(Self.gone(method)) }
        guard callbacks.count < limits.callbacks else {
            return .refuse(Self.tooManyCallbacks(limits.callbacks))
        }
        while tickets[.integer(nextCallback)] != nil || callbacks.contains(nextCallback) { advance() }
        let id = nextCallback
        advance()
        callbacks.insert(id)
        return .send(id)
    }

    private mutating func advance() {
        let ids = RequestID.callbacks
        nextCallback = nextCallback >= ids.upperBound ? ids.lowerBound : nextCallback + 1
    }

    /// The callback that the client's reply belongs to; nil if no callback with that id waits (any more).
    package mutating func replied(_ id: RequestID) -> Int64? {
        guard case .integer(let number) = id else { return nil }
        return callbacks.remove(number)
    }

    /// Whether a callback had that id. Its reply may come late.
    package func hasAsked(_ id: RequestID) -> Bool {
        guard case .integer(let number) = id else { return false }
        return RequestID.callbacks.lowerBound <= number && number < nextCallback
    }

    /// Stops waiting for the callback's reply. False if the callback was over already.
    package mutating func gaveUp(_ callback: Int64) -> Bool { callbacks.remove(callback) != nil }

    package static func tooManyCallbacks(_ limit: Int) -> RPCError {
        RPCError(
            .tooMany,
            "at most \(limit) callbacks may wait on a connection: reply to earlier callbacks first,"
                + " or send fewer requests with callbacks at a time",
            data: ["limit": .integer(Int64(limit)), "what": .string("callbacks")])
    }

    package static func gone(_ method: String) -> RPCError {
        RPCError(.clientGone, "the client can no longer reply to \(method)", data: ["method": .string(method)])
    }

    // MARK: ends

    package var isIdle: Bool { count == 0 }

    /// LSP `shutdown`: later calls are refused.
    package mutating func shutDown() { if phase == .open { phase = .shutDown } }
    package var isShutDown: Bool { phase == .shutDown }

    /// The service ends: running calls may finish.
    package mutating func stop() { if phase != .closed { phase = .stopping } }
    package var isStopping: Bool { phase == .stopping }

    /// The client sends nothing more. Returns the callbacks that are lost.
    package mutating func inputEnded() -> [Int64] {
        hasInput = false
        defer { callbacks = [] }
        return callbacks.sorted()
    }

    /// The client is gone. Returns the calls to cancel and the callbacks that are lost.
    package mutating func close() -> (calls: [CallTicket], callbacks: [Int64]) {
        phase = .closed
        return (running.tickets, inputEnded())
    }
}

extension RequestID {
    /// The id as error messages write it.
    var text: String {
        switch self {
        case .string(let text): "\"\(text)\""
        case .integer(let number): "\(number)"
        }
    }
}
