// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Requests with one credential, against a server that responds as told: no clock, no socket, every order of events.
struct Interceptors {
    enum End: Equatable {
        case status(Int, String)
        case notAdapted(TokenFault)
        case notRetried(TokenFault, String)
    }

    struct Exchange {
        /// The statuses of the server, one after the other; the last again and again.
        var statuses: [Int]
        var used: AccessToken?
        var retries = 0
        var end: End?
    }

    var machine: TokenMachine
    var exchanges: [Int: Exchange] = [:]
    /// Responses of the server that no exchange has read.
    var onWire: [Int] = []
    var refreshes = 0
    var now = ClockPair(wall: 1_000_000, boot: 500)
    /// What the next tokens live, in seconds; nil for no limit.
    var lifetime: Double?

    init(
        _ token: AccessToken? = AccessToken(Secret("a0"), obtained: ClockPair(wall: 1_000_000, boot: 500)),
        window: RefreshWindow? = RefreshWindow(), holds: Bool = false
    ) throws {
        var spec = CredentialSpec(
            name: "test", clientID: "test", endpoints: OAuthEndpoints(token: try HTTPURL(parsing: "http://127.0.0.1/")),
            grant: .callback)
        spec.window = window
        spec.holds = holds
        machine = TokenMachine(TokenRules(spec))
        set(token)
    }

    /// One that must be refreshed before it is used.
    static var expired: AccessToken {
        AccessToken(
            Secret("a0"), obtained: ClockPair(wall: 999_000, boot: 0), expires: ClockPair(wall: 999_500, boot: 250))
    }

    var counts: [Int] {
        let counts = machine.counts
        return [counts.apply, counts.refresh, counts.didRequestFail, counts.isRequestAuthenticatedWith]
    }

    mutating func set(_ token: AccessToken?) {
        follow(
            machine.took(
                token, generation: machine.generation + 1, isObtainable: false, at: now, chance: 0.5))
    }

    /// Begins a request.
    mutating func send(_ id: Int, _ statuses: Int...) {
        exchanges[id] = Exchange(statuses: statuses)
        follow(id, machine.adapt(id, at: now), isAdapting: true)
    }

    /// The server responds to the request that was sent first; false if there is none.
    @discardableResult
    mutating func respond() -> Bool {
        guard !onWire.isEmpty else { return false }
        let id = onWire.removeFirst()
        guard var exchange = exchanges[id], let used = exchange.used else { return true }
        let status = exchange.statuses.count > 1 ? exchange.statuses.removeFirst() : exchange.statuses[0]
        exchanges[id] = exchange
        guard status >= 400 else {
            exchanges[id]?.end = .status(status, used.token.exposed)
            return true
        }
        let step = machine.retry(id, isRefused: status == 401, used: used, at: now)
        if step == .leave {
            exchanges[id]?.end = .status(status, used.token.exposed)
        } else {
            follow(id, step, isAdapting: false)
        }
        return true
    }

    /// The refresh brings the next token.
    mutating func refresh() {
        let expires = lifetime.map { ClockPair(wall: now.wall + $0, boot: now.boot + $0) }
        let token = AccessToken(Secret("a\(refreshes)"), obtained: now, expires: expires)
        follow(
            machine.took(token, generation: machine.generation + 1, isObtainable: false, at: now, chance: 0.5))
    }

    mutating func failRefresh() {
        follow(machine.refreshFailed(Self.failure, flight: machine.flight, at: now, chance: 0.5))
    }

    /// Everything that is under way comes to its end: responses first, then the refresh.
    mutating func finish(refreshing: Bool = true) {
        for _ in 0..<1000 {
            if respond() { continue }
            guard machine.isRefreshing else { return }
            if refreshing { refresh() } else { failRefresh() }
        }
    }

    static let failure = OAuthFailure(.temporary, "network", "nothing came")

    // MARK: inside

    private mutating func follow(_ release: TokenMachine.Release) {
        if release.refreshes { refreshes += 1 }
        for (id, step) in release.steps.sorted(by: { $0.key < $1.key }) {
            follow(id, step, isAdapting: exchanges[id]?.used == nil || step.isForAdapting)
        }
    }

    private mutating func follow(_ id: Int, _ step: TokenMachine.Step, isAdapting: Bool) {
        switch step {
        case .apply(let token, _):
            exchanges[id]?.used = token
            onWire.append(id)
        case .retry:
            exchanges[id]?.retries += 1
            follow(id, machine.adapt(id, at: now), isAdapting: true)
        case .leave: return
        case .fail(let fault):
            let used = exchanges[id]?.used?.token.exposed
            exchanges[id]?.end = isAdapting ? .notAdapted(fault) : .notRetried(fault, used ?? "")
        case .wait: return
        case .refresh: refreshes += 1
        }
    }
}

extension TokenMachine.Step {
    fileprivate var isForAdapting: Bool { if case .apply = self { true } else { false } }
}
