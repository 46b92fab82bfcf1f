// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Runs an `EventSourceMachine` for a request: each connection is an attempt, and each reconnection a retry.
///
/// The source stands before the exchange's other delegates, and before the streams that take its body.
final class EventSource: BodyOutlet, RequestParticipant {
    static let key = "\0events"
    static let keptFields = ["Last-Event-ID", "Cache-Control"]

    private struct State {
        var machine: EventSourceMachine
        /// The connection has ended without an error.
        var hasEnded = false
        var inner: (any ExchangeDelegate)?
    }

    private let hub: StreamFanout
    private let outlet: StreamBodyConsumer
    private let memory: EventStreamMemory
    let reconnects: Bool
    private let state: Mutex<State>
    private let began = ContinuousClock.now

    init(_ hub: StreamFanout, _ outlet: StreamBodyConsumer, _ policy: ReconnectPolicy, _ memory: EventStreamMemory) {
        self.hub = hub
        self.outlet = outlet
        self.memory = memory
        reconnects = policy.isEnabled
        state = Mutex(State(machine: EventSourceMachine(policy)))
    }

    var inner: (any ExchangeDelegate)? {
        get { state.withLock { $0.inner } }
        set { state.withLock { $0.inner = newValue } }
    }

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

    // MARK: RequestParticipant

    func adapted(_ attempt: Attempt) -> Attempt {
        state.withLock { $0.machine.connecting() }
        var attempt = attempt
        attempt.fields.remove("Last-Event-ID")
        let id = memory.note.lastEventID
        // an id may hold bytes that a field must not: the server then starts as without an id
        if !id.isEmpty, FieldRules.fault(inField: "Last-Event-ID", id) == nil {
            attempt.fields.add("Last-Event-ID", id)
        }
        return attempt
    }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        let now = now
        let facts = ResponseFacts(moment)
        if case .refuse(let failure) = state.withLock({ $0.machine.responded(facts, now: now) }) { throw failure }
        try await inner?.judge(moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict {
        guard name == Self.key else { return try await inner?.retry(name, failure, moment) ?? .doNotRetry }
        // ends the cut-off event for the streams, too; then the last id is known
        if hub.hasBegun { try await hub.bodyEnded() }
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
