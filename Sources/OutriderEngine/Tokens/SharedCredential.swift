// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// A credential that all exchanges and programs of this service share; carries out the machine's decisions.
///
/// A refresh, once begun, is carried to its end, even if all callers stop waiting; each caller has a time limit of its
/// own.
package final class SharedCredential: Sendable {
    /// The end of a wait.
    enum End: Sendable {
        case step(TokenMachine.Step)
        case late
        case cancelled
    }

    private struct State {
        var machine: TokenMachine
        var snapshot: CredentialSnapshot
        var waiters: [Int: CheckedContinuation<End, Never>] = [:]
        /// Callers that were told to wait, and have not continued yet.
        var pending: Set<Int> = []
        /// Decisions made before the caller began to wait.
        var early: [Int: End] = [:]
        var nextID = 0
        /// When the store was last read, by the clock that counts sleep.
        var checked = 0.0
        var isChecking = false
        /// The tokens were cleared: no request asks for others before new tokens, new secrets, or `refresh`.
        var isCleared = false
        /// Of the last caller that waits for a refresh.
        var recorder: (any TokenRecorder)?
    }

    /// Longest wait for a refresh while the current token is still valid, in seconds.
    private static let patience = 5.0

    package let name: String
    let source: TokenSource
    private let refreshers: Refreshers
    private let state: Mutex<State>
    private let looking = SingleFlight<Void>()
    let sight = RecordFreshness()
    /// Serializes changes, so that the last change in the store is also the last here.
    let changes = SerialQueue()

    init(_ snapshot: CredentialSnapshot, _ source: TokenSource, refresher: (any TokenRefresher)?) {
        name = snapshot.spec.name
        self.source = source
        refreshers = Refreshers(refresher)
        let machine = TokenMachine(TokenRules(snapshot.spec))
        state = Mutex(State(machine: machine, snapshot: snapshot))
        take(snapshot, because: nil)
    }

    package var snapshot: CredentialSnapshot { state.withLock { $0.snapshot } }
    package var counts: TokenMachine.Counts { state.withLock { $0.machine.counts } }
    /// Whether a caller waits.
    var isAwaited: Bool { state.withLock { $0.machine.waiters > 0 } }
    private var waitsForLogins: Bool {
        state.withLock { $0.machine.rules.onFailure == .reauthorize && $0.snapshot.spec.persistence == .disk }
    }
    /// Whether a request gets a token at once.
    var hasToken: Bool {
        state.withLock { state in
            var machine = state.machine
            if case .apply = machine.adapt(0, at: source.now) { return true }
            return false
        }
    }
    package var isRefreshing: Bool { state.withLock { $0.machine.isRefreshing } }

    // MARK: tokens for callers

    /// A token for that purpose, and its generation, within the time limit. A request whose token is still valid waits
    /// at most five seconds for a refresh.
    ///
    /// - Parameter recorder: of the caller, for a refresh that the call begins.
    package func token(
        for purpose: TokenMachine.Purpose, within seconds: Double, recorder: (any TokenRecorder)? = nil
    ) async throws(HTTPFailure) -> (token: AccessToken, generation: UInt64) {
        await lookAgain()
        let serves = state.withLock { purpose == .request && $0.machine.serves(at: source.now) }
        let patience = serves ? min(seconds, Self.patience) : seconds
        do throws(HTTPFailure) {
            return try await adapted(for: purpose, within: patience, recorder)
        } catch {
            guard serves, error.kind == .timedOut else { throw error }
            if let step = state.withLock({ $0.machine.useStaleToken(at: source.now) }) { return try granted(step) }
            if patience < seconds {
                return try await adapted(for: purpose, within: seconds - patience, recorder)
            }
            throw error
        }
    }

    private func adapted(
        for purpose: TokenMachine.Purpose, within seconds: Double, _ recorder: (any TokenRecorder)?
    ) async throws(HTTPFailure) -> (token: AccessToken, generation: UInt64) {
        try granted(
            try await follow(.expired, within: seconds, recorder) { machine, id in
                machine.adapt(id, for: purpose, at: source.now)
            })
    }

    /// A new token, even if the old token is still valid.
    package func refresh(
        within seconds: Double, recorder: (any TokenRecorder)? = nil
    ) async throws(HTTPFailure) -> (token: AccessToken, generation: UInt64) {
        await lookAgain()
        allowRequests()
        return try granted(
            try await follow(.asked, within: seconds, recorder) { machine, id in machine.demand(id, at: source.now)
            })
    }

    /// The verdict on a request that was sent with that token.
    ///
    /// - Parameter isRefused: whether the server refused the token; nil if there was no response.
    package func retry(
        used: AccessToken, isRefused: Bool?, within seconds: Double, recorder: (any TokenRecorder)? = nil
    ) async throws(HTTPFailure) -> RetryVerdict {
        if isRefused == true { await lookAgain() }
        let step = try await follow(.refused, within: seconds, recorder) { machine, id in
            machine.retry(id, isRefused: isRefused, used: used, at: source.now)
        }
        switch step {
        case .retry: return .retry(after: 0)
        case .fail(let fault): return .fail(failure(fault))
        default: return .doNotRetry
        }
    }

    private func granted(_ step: TokenMachine.Step) throws(HTTPFailure) -> (AccessToken, UInt64) {
        switch step {
        case .apply(let token, let generation): return (token, generation)
        case .fail(let fault): throw failure(fault)
        default: throw failure(.missingCredential)
        }
    }

    /// Queries the machine, and waits if so decided. Throws `timedOut` and `explicitlyCancelled`.
    private func follow(
        _ reason: RefreshReason, within seconds: Double, _ recorder: (any TokenRecorder)?,
        _ begin: (inout TokenMachine, Int) -> TokenMachine.Step
    ) async throws(HTTPFailure) -> TokenMachine.Step {
        let (id, step) = state.withLock { state -> (Int, TokenMachine.Step) in
            state.nextID &+= 1
            let step = begin(&state.machine, state.nextID)
            if step == .wait || step == .refresh {
                state.pending.insert(state.nextID)
                state.recorder = recorder
            }
            return (state.nextID, step)
        }
        guard step == .wait || step == .refresh else { return step }
        defer { leave(id) }
        if step == .refresh { startRefresh(because: reason) }
        if waitsForLogins { watch() }
        let alarm = source.later(seconds) { [weak self] in self?.end(id, .late) }
        defer { alarm.cancel() }
        switch await wait(id) {
        case .step(let step): return step
        case .late:
            throw HTTPFailure(
                .timedOut, "the token of \(name) was not there in time", phase: .queue, retryable: true)
        case .cancelled: throw HTTPFailure(.explicitlyCancelled, "the request was cancelled")
        }
    }

    private func wait(_ id: Int) async -> End {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> End? in
                    if let early = state.early.removeValue(forKey: id) { return early }
                    state.waiters[id] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            end(id, .cancelled)
        }
    }

    /// Ends the wait of a caller.
    private func end(_ id: Int, _ end: End) {
        let waiter = state.withLock { state -> CheckedContinuation<End, Never>? in
            state.machine.cancel(id)
            if let waiter = state.waiters.removeValue(forKey: id) { return waiter }
            if state.pending.contains(id), state.early[id] == nil { state.early[id] = end }
            return nil
        }
        waiter?.resume(returning: end)
    }

    /// The caller continues: a later alarm or cancellation has no effect.
    private func leave(_ id: Int) {
        state.withLock { state in
            state.pending.remove(id)
            state.early[id] = nil
        }
    }

    // MARK: tokens

    /// Takes over tokens or a spec that changed outside of this object.
    package func take(_ snapshot: CredentialSnapshot) { take(snapshot, because: .changed) }

    /// Notes the new mark of a record that was rewritten without a change.
    func note(_ mark: RecordMark?) { state.withLock { $0.snapshot.mark = mark } }

    /// Applies a logout; the store may already have the tokens of a newer login.
    func loggedOut(leaving stored: CredentialSnapshot?) {
        guard let stored else { return clear(because: .changed) }
        // the tokens of a different credential are of no use here
        guard stored.birth == snapshot.birth else { return clear(because: .changed) }
        if stored.access != nil || stored.hasRefreshToken { return take(stored) }
        clear(because: .changed, leaving: stored)
    }

    /// Clears the tokens for all callers.
    ///
    /// - Parameter stored: the content of the store, if known.
    func clear(because event: CredentialEvent?, leaving stored: CredentialSnapshot? = nil) {
        var snapshot = stored ?? snapshot
        snapshot.access = nil
        snapshot.hasRefreshToken = false
        snapshot.state = .empty
        if stored == nil { snapshot.generation &+= 1 }
        state.withLock { $0.isCleared = true }
        take(snapshot, because: event)
    }

    /// After cleared tokens, requests may ask for others again.
    func allowRequests() {
        state.withLock { state in
            guard state.isCleared else { return }
            state.isCleared = false
            if isObtainable(state.snapshot) { state.machine.allowRefresh() }
        }
    }

    /// Adds a client's code that gets the tokens.
    package func use(_ refresher: any TokenRefresher) { refreshers.add(refresher) }

    func take(_ snapshot: CredentialSnapshot, because event: CredentialEvent?) {
        let release = state.withLock { state in
            state.snapshot = snapshot
            state.machine.rules = TokenRules(snapshot.spec)
            if snapshot.access != nil || snapshot.hasRefreshToken { state.isCleared = false }
            if case .needsLogin(let failure) = snapshot.state {
                return took(&state, barrier: failure)
            }
            return took(&state, barrier: nil)
        }
        // events come before the replies that they explain
        if let event { source.tell(event, snapshot) }
        go(release, because: .expired)
    }

    private func took(_ state: inout State, barrier: OAuthFailure?) -> TokenMachine.Release {
        let release = state.machine.took(
            state.snapshot.access, generation: state.snapshot.generation,
            isObtainable: !state.isCleared && isObtainable(state.snapshot), barrier: barrier,
            at: source.now, chance: source.chance)
        return release
    }

    /// Whether a token can be obtained without a person.
    private func isObtainable(_ snapshot: CredentialSnapshot) -> Bool {
        switch snapshot.spec.grant {
        case .clientCredentials, .jwtBearer: true
        case .callback: !refreshers.isEmpty
        case .refresh, .authorizationCode, .device: snapshot.hasRefreshToken
        }
    }

    /// Carries out the decisions for waiting callers.
    private func go(_ release: TokenMachine.Release, because reason: RefreshReason) {
        let ends = state.withLock { state in
            var ends: [(CheckedContinuation<End, Never>, TokenMachine.Step)] = []
            for (id, step) in release.steps {
                if let waiter = state.waiters.removeValue(forKey: id) {
                    ends.append((waiter, step))
                } else if state.pending.contains(id), state.early[id] == nil {
                    state.early[id] = .step(step)
                }
            }
            return ends
        }
        for (waiter, step) in ends { waiter.resume(returning: .step(step)) }
        if release.refreshes { startRefresh(because: reason) }
    }

    /// Reads the store for changes by another process or a person, if only those can help; at most every two seconds.
    /// Callers that come during a read wait for its result.
    private func lookAgain() async {
        let now = source.now.boot
        let isDue = state.withLock { state in
            guard state.machine.isHelpless, state.snapshot.spec.persistence == .disk else { return false }
            if state.isChecking { return true }
            guard state.checked < now - 2 else { return false }
            state.checked = now
            state.isChecking = true
            return true
        }
        guard isDue else { return }
        await looking.join { [self] in
            defer { state.withLock { $0.isChecking = false } }
            guard let found = await source.stored(name) else { return }
            // the store was unavailable, and is back
            let wasAway = state.withLock {
                $0.machine.barrier?.reason == OAuthFailure.unknownCredential(name).reason
            }
            guard found.birth == snapshot.birth else { return }
            if wasAway || found.generation > snapshot.generation { take(found, because: .changed) }
        }
    }

    // MARK: the refresh

    private func startRefresh(because reason: RefreshReason) {
        let (flight, snapshot, recorder) = state.withLock { ($0.machine.flight, $0.snapshot, $0.recorder) }
        let cause = snapshot.access == nil ? RefreshReason.missing : reason
        source.tell(.refreshing(cause), snapshot)
        Task.detached { [self] in
            do throws(OAuthFailure) {
                refreshSucceeded(
                    try await source.obtain(snapshot, cause, refreshers, recorder), since: snapshot.generation)
            } catch {
                await failed(error, flight)
            }
        }
    }

    private func refreshSucceeded(_ fresh: CredentialSnapshot, since generation: UInt64) {
        var fresh = fresh
        let isNews = state.withLock { state -> Bool in
            // the client's callback may have used older settings
            if fresh.spec.isKeptByService { fresh.spec = state.snapshot.spec }
            // a newer change from outside wins
            return state.snapshot.generation == generation || fresh.generation > state.snapshot.generation
        }
        if isNews { take(fresh, because: .refreshed) } else { take(snapshot, because: nil) }
    }

    private func failed(_ failure: OAuthFailure, _ flight: Int) async {
        let (release, snapshot, clears) = state.withLock { state in
            let release = state.machine.refreshFailed(failure, flight: flight, at: source.now, chance: source.chance)
            let isFinal = state.machine.barrier == failure
            if isFinal { state.snapshot.state = .needsLogin(failure) }
            let clears = isFinal && state.snapshot.spec.onFailure == .clear
            if clears {
                state.snapshot.access = nil
                state.snapshot.hasRefreshToken = false
            }
            return (release, state.snapshot, clears)
        }
        // The credential was replaced or deleted; the next lookup finds out.
        if failure.kind == .config { sight.expire() }
        source.tell(.failed(failure), snapshot)
        go(release, because: .expired)
        if clears { await source.forgetTokens(snapshot) }
    }

    // MARK: failures

    private func failure(_ fault: TokenFault) -> HTTPFailure {
        switch fault {
        case .missingCredential:
            let isObtainable = state.withLock { self.isObtainable($0.snapshot) }
            let remedy = isObtainable ? "get one with oauth.refresh" : "log in (oauth.login, oauth.device)"
            return HTTPFailure(
                .missingCredential,
                "the credential \(name) has no token: \(remedy), or give it one with oauth.set",
                details: [.credential(name)])
        case .excessiveRefresh:
            let window = snapshot.spec.window ?? RefreshWindow()
            return HTTPFailure(
                .excessiveRefresh,
                "the token of \(name) was refreshed \(window.maximumAttempts) times within \(window.interval) s already: the"
                    + " server refuses what it gives, or the window is too narrow", details: [.credential(name)])
        case .refreshFailed(let failure):
            return HTTPFailure(
                .refreshFailed, "the token of \(name) could not be refreshed: \(failure.message)",
                retryable: failure.kind == .temporary, details: [.credential(name), .oauth(failure)])
        }
    }
}
