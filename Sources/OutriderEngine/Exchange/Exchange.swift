// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP
import OutriderTransport
import Synchronization

/// One request on its way, from the moment it is made until nobody asks for it any more.
///
/// Responsible for: its state as others see it, starting, cancelling and waiting.
/// Not responsible for: what happens next, which `ExchangeDriver` finds out.
package final class Exchange: Sendable {
    /// What others may wait for.
    package enum Milestone: Sendable { case response, finish }

    /// How it stands.
    package struct Snapshot: Sendable {
        package var phase = RequestPhase.created
        package var attempts = 0
        package var retries = 0
        package var redirects: [RedirectHop] = []
        /// What was sent before the request that `request` shows: earlier attempts, and redirects within them.
        package var earlier: [SentRequest] = []
        package var timelines: [Timeline] = []
        package var head: ExchangeHead?
        package var failure: HTTPFailure?
        package var progress = Progress()
    }

    struct Waiter {
        var id: Int
        var milestone: Milestone
        var continuation: UnsafeContinuation<Bool, Never>
    }

    struct State {
        var snapshot = Snapshot()
        /// What was sent last, or will be.
        var request: Result<Attempt, HTTPFailure>
        /// As it was asked for, where that is something else.
        var built: Result<Attempt, HTTPFailure>?
        var owner: MonitorOwner?
        var observer: (any ExchangeObserver)?
        var advisor: (any ExchangeAdvisor)?
        /// Nil where nobody may say who asks.
        var authenticator: Authenticator?
        /// Carries the exchange, from its start to its end.
        var driver: ExchangeDriver?
        var isStarted = false
        /// Whether its observer has heard of it.
        var isIntroduced = false
        /// Why it is to end early.
        var cancellation: HTTPFailure?
        /// What came of a download is kept, to go on with, though it is cancelled.
        var keepsPartial = false
        /// How it ends is settled; its observer may still be hearing of it.
        var isEnding = false
        var outcome: ExchangeOutcome?
        var waiters: [Waiter] = []
        var nextWaiter = 0
        var whenEnded: [@Sendable () -> Void] = []
        var watchdog: Postponed?
        /// While it is suspended, or somebody is asked.
        var held = HeldTime()
        /// For all its attempts together.
        var resource: ResourceTime?
        var lost: Timeline?
        /// What carries the attempt now.
        var control: (any AttemptControl)?
        var turn = Turn.none
        /// What became of it while it was suspended, to be told when it goes on.
        var untold: [RequestPhase] = []
        /// How many of these had been told before.
        var told = 0
        /// Run at the end of a suspension: by the driver, and by the segments of a download.
        var gates: [@Sendable () -> Void] = []
        /// Nil where nobody wants to hear of it.
        var upload: ProgressMachine?
        var download: ProgressMachine?
        /// Who takes the body of the answer; nil where it is kept.
        var outlet: (any BodyOutlet)?
        /// What the client gives of the body: it hears when nobody wants it any more.
        var feeds: [any BodyFeed] = []
    }

    package let created = WallTime.now
    /// Counted over the whole service, in the order in which they were made.
    package let number: Int
    package let destination: BodyDestination
    package let maxInline: Int
    /// Whether its outcome stays, body and all, for those who ask later.
    package let keepsBody: Bool
    package let url: String
    package let method: String
    let plan: SharedPlan?
    /// Nil for what is no download.
    let download: DownloadSpec?
    /// Nil where it need not wait for others.
    let turns: (any TurnKeeper)?
    /// The credentials of its session; nil without one.
    let keeper: CredentialKeeper?
    /// Nil if the request neither sends nor takes cookies.
    let cookies: ExchangeCookies?
    /// Nil where it goes through no proxy.
    let proxyAuthenticator: Authenticator?
    /// Nil for a request without a cache.
    let cache: CacheBinding?
    /// Nil if nothing stands before the network.
    let stage: ReplayStage?
    let surroundings: Surroundings
    package let quota: BodyQuota
    let identity: ExchangeIdentity
    let state: Mutex<State>

    init(
        _ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, in surroundings: Surroundings, quota: BodyQuota,
        keepsBody: Bool, observer: (any ExchangeObserver)?, advisor: (any ExchangeAdvisor)?,
        turns: (any TurnKeeper)?, outlet: (any BodyOutlet)?, identity: ExchangeIdentity,
        keeper: CredentialKeeper?, cookies: ExchangeCookies? = nil,
        cache: CacheBinding? = nil, stage: ReplayStage? = nil
    ) {
        self.cache = cache
        self.stage = stage
        self.turns = turns
        self.cookies = cookies
        self.identity = identity
        self.keeper = keeper
        proxyAuthenticator = Authenticator.forProxies(of: spec, keeper)
        destination = spec.destination
        maxInline = spec.maxInline
        self.keepsBody = keepsBody
        plan = spec.shared
        download = spec.download
        self.surroundings = surroundings
        self.quota = quota
        number = surroundings.counters.next()
        var state = State(request: request, owner: identity.owner, observer: observer, advisor: advisor)
        state.outlet = outlet
        state.authenticator = Authenticator.make(for: spec, keeper)
        if let interval = observer?.progressInterval {
            state.upload = ProgressMachine(.upload, interval: .seconds(interval))
            state.download = ProgressMachine(.download, interval: .seconds(interval), hint: spec.expectedSize)
        }
        switch request {
        case .success(let attempt):
            url = attempt.url.described
            method = attempt.method
            if attempt.body != .none { state.snapshot.progress.sentTotal = attempt.body.plainSize }
            if case .composed(let body) = attempt.body { state.feeds = body.feeds }
        case .failure:
            (method, url) = spec.excerpt
        }
        self.state = Mutex(state)
    }

    deinit { surroundings.counters.moved(from: state.withLock { $0.snapshot.phase }, to: .finished) }

    /// Sends it, unless it was suspended before. Once is enough; more does nothing.
    package func start() {
        let begins = state.withLock { state in
            guard !state.isStarted, state.snapshot.phase != .suspended || state.cancellation != nil else {
                return false
            }
            state.isStarted = true
            if state.snapshot.phase.mayBecome(.resumed) { enter(.resumed, &state) }
            return true
        }
        if begins { run() }
    }

    func run() {
        surroundings.counters.began()
        let loop = surroundings.transport.loop
        if loop.inEventLoop { carry(on: loop) } else { loop.execute { self.carry(on: loop) } }
    }

    private func carry(on loop: any EventLoop) {
        let driver = ExchangeDriver(self, on: loop)
        state.withLock { $0.driver = driver }
        driver.start()
    }

    /// Ends it with explicitlyCancelled, unless it has ended.
    ///
    /// - Parameter keepingPartial: what came of a download is kept, and its outcome says how to go on.
    package func cancel(keepingPartial: Bool = false) {
        if keepingPartial { state.withLock { $0.keepsPartial = true } }
        end(with: HTTPFailure(.explicitlyCancelled, "the request was cancelled"))
        // only a started exchange has a driver to end it
        start()
    }

    /// Ends it early, unless it has ended.
    package func end(with failure: HTTPFailure) {
        struct Carrier {
            var driver: ExchangeDriver?
            var gates: [@Sendable () -> Void]
            /// An attempt is on the wire.
            var isSending: Bool
        }
        let carrier = state.withLock { state -> Carrier? in
            guard !state.isEnding, state.cancellation == nil else { return nil }
            state.cancellation = failure
            if failure.kind == .explicitlyCancelled { enter(.cancelled, &state) }
            defer { state.gates = [] }
            return Carrier(driver: state.driver, gates: state.gates, isSending: state.control != nil)
        }
        guard let carrier else { return }
        tell(.requestCancelled) { .outcome(failure, attempt: attemptNumber) }
        if carrier.isSending { tell(.attemptCancelled) { .attempt(attemptNumber) } }
        carrier.driver?.cancel(failure)
        for gate in carrier.gates { gate() }
    }

    /// Gives the body back that nobody will ask for.
    package func dropBody() {
        let body = state.withLock { state in
            defer { state.outcome?.body = .none }
            return state.outcome?.body
        }
        if case .kept(let body) = body { body.release() }
    }

    /// Whether redirects are followed; true by default.
    package var followsRedirects: Bool { plan?.plan.redirect.follows ?? true }

    /// Whether its body becomes a file, that nobody else can write to before the exchange has ended.
    package var isDownload: Bool { download != nil }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Nil until it has ended.
    package var outcome: ExchangeOutcome? { state.withLock { $0.outcome } }

    /// A body up to this stays for `request.describe` and `har.export`.
    private static let shownBodyBytes = 4 << 10

    /// The outcome, once: unless `keepsBody`, what stays behind is without its body, but for a short one.
    package func takeOutcome() -> ExchangeOutcome? {
        state.withLock { state in
            defer {
                if !keepsBody, case .memory(let bytes, _)? = state.outcome?.body, bytes.count > Self.shownBodyBytes {
                    state.outcome?.body = .none
                }
            }
            return state.outcome
        }
    }

    /// Runs the work once it has ended; at once if it has.
    package func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.outcome == nil { state.whenEnded.append(work) }
            return state.outcome != nil
        }
        if isOver { work() }
    }

    /// What goes on the wire, for showing. After the end a long body is replaced by standard input.
    package var request: Result<Attempt, HTTPFailure> { state.withLock { $0.request } }

    package var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Waits until it has come that far, or ended. False if the caller's task was cancelled first.
    package func reached(_ milestone: Milestone) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
                let answer = state.withLock { state -> Bool? in
                    if state.outcome != nil { return true }
                    if milestone == .response, state.snapshot.head != nil { return true }
                    if Task.isCancelled { return false }
                    state.waiters.append(Waiter(id: id, milestone: milestone, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }
}
