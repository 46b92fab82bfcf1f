// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Runs an `EventSourceMachine` for a request: each connection is an attempt, and each reconnection a retry.
///
/// The source stands before the exchange's other delegates, and before the streams that take its body.
final class EventSource: BodyOutlet, ExchangeDelegate, RequestParticipant {
    /// The key of the source among the exchange's delegates.
    private static let key = "\0events"

    private struct State {
        var machine: EventSourceMachine
        /// The connection has ended without an error.
        var hasEnded = false
        /// The exchange's other delegates.
        var inner: (any ExchangeDelegate)?
    }

    private let hub: StreamFanout
    private let outlet: StreamBodyConsumer
    private let memory: EventStreamMemory
    private let reconnects: Bool
    private let state: Mutex<State>
    private let began = ContinuousClock.now

    init(_ hub: StreamFanout, _ outlet: StreamBodyConsumer, _ policy: ReconnectPolicy, _ memory: EventStreamMemory) {
        self.hub = hub
        self.outlet = outlet
        self.memory = memory
        reconnects = policy.isEnabled
        state = Mutex(State(machine: EventSourceMachine(policy)))
    }

    /// Joins the plan of a request: decides on retries first, and adapts last.
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeDelegate)?) -> any ExchangeDelegate {
        state.withLock { $0.inner = others }
        plan.adaptations.append(.callback(Self.key))
        plan.retriers.insert(.callback(Self.key), at: 0)
        plan.judgesHead = true
        // redirects keep the fields of an event stream
        plan.redirect.keepHeaders += ["Last-Event-ID", "Cache-Control"]
        plan.isLasting = reconnects
        return self
    }

    private var inner: (any ExchangeDelegate)? { state.withLock { $0.inner } }

    /// Seconds, forward.
    private var now: Double { began.duration(to: .now) / .seconds(1) }

    // MARK: BodyOutlet

    /// A stream that reconnects resumes after its last event, so delivered events need not be taken back.
    var hasTaken: Bool { !reconnects && outlet.hasTaken }

    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure) {
        state.withLock { $0.hasEnded = false }
        // the length of a response is not the length of the stream
        try await outlet.begin(head, expecting: reconnects ? nil : bytes)
    }

    func take(_ chunk: BodyChunk) async throws(HTTPFailure) {
        state.withLock { $0.machine.moved() }
        try await outlet.take(chunk)
    }

    func finish() async throws(HTTPFailure) {
        try await outlet.finish()
        guard reconnects else { return }
        state.withLock { $0.hasEnded = true }
        throw HTTPFailure(.connectionLost, "the event stream ended", phase: .response, sent: .sent)
    }

    func over(_ outcome: ExchangeOutcome) async {
        state.withLock { state in
            state.machine.close()
            state.inner = nil
        }
        await outlet.over(outcome)
    }

    func renounce(_ failure: HTTPFailure) { outlet.renounce(failure) }

    // MARK: ExchangeDelegate

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt {
        guard name == Self.key else {
            guard let inner else { return moment.request }
            return try await inner.adapt(name, moment)
        }
        state.withLock { $0.machine.connecting() }
        var attempt = moment.request
        attempt.fields.remove("Last-Event-ID")
        let id = memory.note.lastEventID
        // an id may hold bytes that a field must not: the server then starts as without an id
        if !id.isEmpty, FieldRules.fault(inField: "Last-Event-ID", id) == nil {
            attempt.fields.add("Last-Event-ID", id)
        }
        return attempt
    }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? {
        guard let inner else { return next }
        return try await inner.redirect(name, hop, next: next, moment)
    }

    func challenge(
        _ name: String, _ callback: AuthenticationCallback, _ moment: ExchangeMoment
    ) async -> CallbackCredential? {
        await inner?.challenge(name, callback, moment)
    }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        let now = now
        let facts = ResponseFacts(moment)
        if case .refuse(let failure) = state.withLock({ $0.machine.responded(facts, now: now) }) { throw failure }
        try await inner?.judge(moment)
    }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        try await inner?.review(body, moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict {
        guard name == Self.key else { return try await inner?.retry(name, failure, moment) ?? .doNotRetry }
        // ends the cut-off event for the streams, too; then the last id is known
        if outlet.hasTaken { try await hub.bodyEnded() }
        let now = now
        let serverDelay = memory.note.reconnectionTime
        let retryAfter = moment.head.flatMap { RetryAfter.seconds($0.fields, now: Int64(WallTime.now.seconds)) }
        let chance = Double.random(in: 0...1)
        let end = state.withLock { state in
            defer { state.hasEnded = false }
            return state.machine.ended(
                state.hasEnded ? nil : failure, serverDelay: serverDelay, retryAfter: retryAfter, now: now,
                chance: chance)
        }
        switch end {
        case .reconnect(let seconds): return .retry(after: seconds)
        case .finish: return .doNotRetry
        case .fail(let reason):
            if reason != failure { throw reason }
            return .doNotRetry
        }
    }
}
