// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Shares a credential's token among all its users, and decides when to refresh: at most one refresh at a time, for any
/// number of callers.
///
///             a token that is due, or was refused
///     idle ───────────────────────────────────────▶ refreshing ─▶ idle
///      ▲                                                 │
///      └── a new request, a new token ◀── failed ◀───────┘
///
/// During a refresh, new requests use the old token until that token is due, unless the rules hold requests; waiting
/// requests get the new token. A refused token is refreshed once: requests refused with an older token are repeated at
/// once.
///
/// Not responsible for: the refresh itself, time limits of waiting requests, and other processes.
package struct TokenMachine: Sendable {
    /// The use of a token.
    package enum Purpose: Sendable, Equatable {
        /// For a request that is about to be sent.
        case request
        /// A program that sends its requests itself, and needs a token valid for at least so many seconds.
        case broker(minValidity: Double)
    }

    /// A caller's next step; `Release` later gives steps to the waiting callers.
    package enum Step: Sendable, Equatable {
        /// The token and its generation.
        case apply(AccessToken, UInt64)
        /// Send the request again.
        case retry
        /// The response does not concern the token.
        case leave
        case fail(TokenFault)
        case wait
        /// Wait, and begin a refresh.
        case refresh
    }

    /// The steps of the callers that waited.
    package struct Release: Sendable, Equatable {
        package var steps: [Int: Step] = [:]
        /// A refresh is to begin again.
        package var refreshes = false
    }

    /// Counts the calls that correspond to the methods of Alamofire's Authenticator.
    package struct Counts: Sendable, Equatable {
        package var apply = 0
        package var refresh = 0
        package var didRequestFail = 0
        package var isRequestAuthenticatedWith = 0

        package init() {}
    }

    private enum State: Equatable {
        case idle, refreshing
        case failed(TokenFault)
    }

    private enum Waiter { case adapt(Purpose), retry, demand }

    package var rules: TokenRules
    package private(set) var access: AccessToken?
    package private(set) var generation: UInt64 = 0
    package private(set) var counts = Counts()
    /// Why no refresh may begin before new tokens arrive.
    package private(set) var barrier: OAuthFailure?
    /// Whether a token can be requested if there is none.
    private var isObtainable = false
    /// Whether a refresh has brought the token.
    private var isFresh = false
    private var state = State.idle
    private var waiting: [Int: Waiter] = [:]
    /// When the refreshes of the window began, by the clock that counts sleep.
    private var attempts: [Double] = []
    private var failures = 0
    /// The end of the pause between refreshes, by the clock that counts sleep, and the failure for callers meanwhile.
    private var pause: (until: Double, fault: TokenFault)?
    /// The latest refresh.
    package private(set) var flight = 0
    private var spread = 1.0

    package init(_ rules: TokenRules) { self.rules = rules }

    package var isRefreshing: Bool { state == .refreshing }
    package var waiters: Int { waiting.count }
    /// Whether a new token can come only from another process or a login.
    package var isHelpless: Bool { barrier != nil || (access == nil && !isObtainable) }

    // MARK: tokens from outside

    /// Takes new tokens, or their absence: from outside, or by a refresh. Waiting callers are released.
    ///
    /// - Parameters:
    ///   - isObtainable: a token can be requested without a person.
    ///   - barrier: why no refresh may begin.
    ///   - chance: from 0 to 1, for the jitter.
    package mutating func took(
        _ access: AccessToken?, generation: UInt64, isObtainable: Bool, barrier: OAuthFailure? = nil,
        at now: ClockPair, chance: Double
    ) -> Release {
        self.access = access
        self.generation = generation
        self.isObtainable = isObtainable
        self.barrier = barrier
        spread = 0.9 + 0.2 * min(max(chance, 0), 1)
        // a token from a refresh is the best available, however short its lifetime
        isFresh = isRefreshing && access != nil
        let serves = isFresh && access.map { isUsable($0, at: now) } == true
        state = .idle
        failures = 0
        pause = nil
        let waited = waiting
        waiting = [:]
        var release = Release()
        for (id, waiter) in waited.sorted(by: { $0.key < $1.key }) {
            let step: Step =
                switch waiter {
                case .adapt(let purpose): served(purpose, serves) ?? adapt(id, for: purpose, at: now)
                case .retry: barrier == nil ? .retry : park(id, waiter) ?? .fail(fault)
                case .demand: access.map { .apply($0, generation) } ?? .fail(fault)
                }
            if step == .refresh { release.refreshes = true }
            if step != .wait, step != .refresh { release.steps[id] = step }
        }
        return release
    }

    /// A token can be requested without a person, although the tokens were cleared.
    package mutating func allowRefresh() { isObtainable = true }

    /// Notes a failed refresh. The old token stays, and serves requests for which its validity suffices.
    ///
    /// - Parameter flight: the refresh that failed; an outdated refresh changes nothing.
    package mutating func refreshFailed(
        _ failure: OAuthFailure, flight: Int, at now: ClockPair, chance: Double
    ) -> Release {
        guard state == .refreshing, flight == self.flight else { return Release() }
        let spread = 0.9 + 0.2 * min(max(chance, 0), 1)
        switch failure.kind {
        case .needsLogin, .config:
            barrier = failure
            if rules.onFailure == .clear { access = nil }
        case .temporary, .unknownOutcome, .store:
            // a pause shared by all processes is no failure of this process
            if !failure.isPause { failures = min(failures + 1, 1 << 20) }
            let seconds = rules.pause(
                afterFailures: failure.isPause ? 0 : failures, retryAfter: failure.retryAfter, spread: spread)
            pause = seconds > 0 ? (now.boot + seconds, .refreshFailed(failure)) : nil
        }
        return fail(.refreshFailed(failure), at: now)
    }

    /// The current token, for a request that has waited long enough for a refresh; nil if that token no longer serves.
    package mutating func useStaleToken(at now: ClockPair) -> Step? {
        guard let access, serves(at: now) else { return nil }
        return apply(access, for: .request)
    }

    /// The caller no longer waits.
    package mutating func cancel(_ id: Int) { waiting[id] = nil }

    // MARK: callers that need a token

    /// A caller requests the token.
    package mutating func adapt(_ id: Int, for purpose: Purpose = .request, at now: ClockPair) -> Step {
        if state == .refreshing, isHeld { return wait(id, .adapt(purpose)) }
        if barrier != nil { return adaptBehindBarrier(id, purpose, at: now) }
        guard let access else {
            guard isObtainable else { return .fail(.missingCredential) }
            return demand(id, .adapt(purpose), at: now)
        }
        if requiresRefresh(access, purpose, at: now) { return demand(id, .adapt(purpose), at: now) }
        if case .failed = state { state = .idle }
        return apply(access, for: purpose)
    }

    /// Decides about a request that failed, or whose status may refer to its token.
    ///
    /// - Parameters:
    ///   - isRefused: whether the response refused the token; nil without a response.
    ///   - used: the token in the request.
    package mutating func retry(_ id: Int, isRefused: Bool?, used: AccessToken, at now: ClockPair) -> Step {
        guard let isRefused else { return .leave }
        counts.didRequestFail &+= 1
        guard isRefused else { return .leave }
        guard let access else { return .fail(.missingCredential) }
        counts.isRequestAuthenticatedWith &+= 1
        guard used.token == access.token else { return .retry }
        if barrier != nil { return park(id, .retry) ?? .fail(fault) }
        if case .failed(let fault) = state { return .fail(fault) }
        return demand(id, .retry, at: now)
    }

    /// A caller requests a new token, although the current token may be valid.
    package mutating func demand(_ id: Int, at now: ClockPair) -> Step {
        if access == nil, !isObtainable, state != .refreshing { return .fail(fault) }
        barrier = nil
        pause = nil
        return demand(id, .demand, at: now)
    }

    /// Whether a request may use the current token: due for a refresh, but still valid. False if a token was refused,
    /// or if the rules hold requests.
    package func serves(at now: ClockPair) -> Bool {
        guard !rules.holds, let access, isUsable(access, at: now) else { return false }
        return !waiting.values.contains { if case .retry = $0 { true } else { false } }
    }

    // MARK: inside

    private var fault: TokenFault { barrier.map { .refreshFailed($0) } ?? .missingCredential }

    /// Whether new requests wait for the refresh: by the rules, or because others already wait.
    private var isHeld: Bool {
        rules.holds
            || waiting.values.contains { waiter in
                if case .adapt = waiter { true } else { false }
            }
    }

    private func requiresRefresh(_ access: AccessToken, _ purpose: Purpose, at now: ClockPair) -> Bool {
        guard let left = access.validity(at: now) else { return false }
        if left <= rules.margin(lifetime: access.lifetime, spread: spread) { return true }
        guard case .broker(let minimum) = purpose, left < minimum else { return false }
        // if a refresh brought a token with a shorter lifetime, the next refresh would bring no better token
        return !(isFresh && (access.lifetime ?? .infinity) <= minimum)
    }

    private mutating func served(_ purpose: Purpose, _ serves: Bool) -> Step? {
        serves ? access.map { apply($0, for: purpose) } : nil
    }

    private mutating func apply(_ access: AccessToken, for purpose: Purpose) -> Step {
        if purpose == .request { counts.apply &+= 1 }
        return .apply(access, generation)
    }

    private mutating func wait(_ id: Int, _ waiter: Waiter) -> Step {
        waiting[id] = waiter
        return .wait
    }

    /// With a token that is still valid, no request waits for a person.
    private mutating func adaptBehindBarrier(_ id: Int, _ purpose: Purpose, at now: ClockPair) -> Step {
        if let access, isUsable(access, at: now) { return apply(access, for: purpose) }
        return park(id, .adapt(purpose))
            ?? .fail(access == nil && rules.onFailure == .clear ? .missingCredential : fault)
    }

    /// Waits for a login, if the rules require that.
    private mutating func park(_ id: Int, _ waiter: Waiter) -> Step? {
        rules.onFailure == .reauthorize ? wait(id, waiter) : nil
    }

    private func isUsable(_ access: AccessToken, at now: ClockPair) -> Bool {
        access.validity(at: now).map { $0 > 0 } ?? true
    }

    /// Joins the running refresh, or begins a refresh.
    private mutating func demand(_ id: Int, _ waiter: Waiter, at now: ClockPair) -> Step {
        if state == .refreshing { return wait(id, waiter) }
        if let pause, now.boot < pause.until {
            state = .failed(pause.fault)
            return settled(waiter, by: pause.fault, at: now)
        }
        if let window = rules.window {
            attempts.removeAll { $0 <= now.boot - window.interval }
            if attempts.count >= window.maximumAttempts {
                state = .failed(.excessiveRefresh)
                return settled(waiter, by: .excessiveRefresh, at: now)
            }
            attempts.append(now.boot)
        }
        counts.refresh &+= 1
        flight &+= 1
        state = .refreshing
        waiting[id] = waiter
        return .refresh
    }

    private mutating func fail(_ fault: TokenFault, at now: ClockPair) -> Release {
        state = .failed(fault)
        let waited = waiting
        waiting = [:]
        var release = Release()
        for (id, waiter) in waited {
            if barrier != nil, case .wait? = parkUnlessDemanded(id, waiter, at: now) { continue }
            release.steps[id] = settled(waiter, by: fault, at: now)
        }
        return release
    }

    private mutating func parkUnlessDemanded(_ id: Int, _ waiter: Waiter, at now: ClockPair) -> Step? {
        switch waiter {
        case .demand: nil
        case .adapt: access.map { isUsable($0, at: now) } == true ? nil : park(id, waiter)
        case .retry: park(id, waiter)
        }
    }

    /// The next step of a waiting caller if no refresh takes place.
    private mutating func settled(_ waiter: Waiter, by fault: TokenFault, at now: ClockPair) -> Step {
        guard case .adapt(let purpose) = waiter, let access, isUsable(access, at: now) else { return .fail(fault) }
        return apply(access, for: purpose)
    }
}
