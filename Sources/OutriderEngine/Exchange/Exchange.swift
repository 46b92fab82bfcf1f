// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP
import OutriderTransport
import Synchronization

/// A request and its state, from creation until its result is no longer needed.
///
/// Responsible for: its state as seen from outside, starting, cancelling and waiting.
/// Not responsible for: the order of steps, which `ExchangeDriver` carries out.
package final class Exchange: Sendable {
    /// The events that an observer has received: none, some, or all but the last.
    enum Telling { case notYet, begun, over }

    /// Points of progress to wait for.
    package enum Milestone: Sendable { case response, finish }

    /// The state as seen from outside.
    package struct Snapshot: Sendable {
        package var phase = RequestPhase.created
        package var attempts = 0
        package var retries = 0
        package var redirects: [RedirectHop] = []
        /// The requests sent before the one in `request`: earlier attempts, and redirects within them.
        package var earlier: [SentRequest] = []
        /// The last attempt is among `earlier`, and no other has begun.
        package var isBetweenAttempts = false
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
        /// The request sent last, or to be sent next.
        var request: Result<Attempt, HTTPFailure>
        /// The request as the client made it, if adapters or redirects changed `request`.
        var built: Result<Attempt, HTTPFailure>?
        var owner: MonitorOwner?
        var observer: (any ExchangeObserver)?
        var delegate: (any ExchangeDelegate)?
        /// Nil if the request must not authenticate.
        var authenticator: Authenticator?
        /// Carries the exchange, from its start to its end.
        var driver: ExchangeDriver?
        var isStarted = false
        /// The failure of a cancelled exchange.
        var cancellation: HTTPFailure?
        /// Whether a cancelled download keeps its partial file, for a resume.
        var keepsPartial = false
        /// The result is settled, though events for the observer may still follow.
        var isEnding = false
        var outcome: ExchangeOutcome?
        var waiters: [Waiter] = []
        var nextWaiter = 0
        var whenEnded: [@Sendable () -> Void] = []
        /// Ends what is made of the outcome, such as the client's value of the body.
        var endConclusion: (@Sendable () -> Void)?
        var watchdog: ScheduledWork?
        /// Time suspended, or waiting for a callback.
        var held = PausedDuration()
        /// Callbacks under way that hold the present attempt, but for those of its connection.
        var decisions = 0
        /// The time limit for all attempts together.
        var resource: ResourceTimeout?
        var lost: Timeline?
        /// Controls the present attempt.
        var control: (any AttemptControl)?
        /// Controls an attempt that has no connection yet.
        var opening: (any AttemptControl)?
        var turn = Turn.none
        /// Phases reached while suspended, to be reported on resume.
        var untold: [RequestPhase] = []
        /// The number of these that had been reported before.
        var told = 0
        /// Called at the end of a suspension: by the driver, and by the segments of a download.
        var gates: [@Sendable () -> Void] = []
        /// Nil without progress reports.
        var upload: ProgressMachine?
        var download: ProgressMachine?
        /// Takes the body of the response; nil if the body is kept.
        var outlet: (any BodyOutlet)?
        /// Bodies that the client provides; told when no more bytes are needed.
        var feeds: [any BodyFeed] = []

        init(_ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, _ setup: borrowing ExchangeSetup) {
            self.request = request
            owner = setup.identity.owner
            observer = setup.observer
            delegate = setup.delegate
            outlet = setup.outlet
            authenticator = Authenticator.make(for: spec, try? request.get(), setup.sessionCredentials)
            if let interval = observer?.progressInterval {
                upload = ProgressMachine(.upload, interval: .seconds(interval))
                download = ProgressMachine(.download, interval: .seconds(interval), hint: spec.expectedSize)
            }
            // one way to the end: with several, the compiler copies the whole state
            switch request {
            case .failure: feeds = spec.body.feeds
            case .success(let attempt):
                if attempt.body != .none { snapshot.progress.sentTotal = attempt.plainSize }
                if case .composed(let body) = attempt.body { feeds = body.feeds }
            }
        }
    }

    package let created = WallTime.now
    /// Counted over the whole service, in order of creation.
    package let number: Int
    package let destination: BodyDestination
    package let maxInline: Int
    /// Whether the outcome stays available with its body.
    package let keepsBody: Bool
    package let url: String
    package let method: String
    let plan: SharedPlan?
    /// Nil if the exchange is no download.
    let download: DownloadSpec?
    /// Nil if the exchange need not wait for others.
    let gate: (any AdmissionGate)?
    /// The credentials of its session; nil without a session.
    let sessionCredentials: SessionCredentials?
    /// As the caller wants them; see `cookies`.
    let givenCookies: ExchangeCookies?
    /// Nil without a proxy.
    let proxyAuthenticator: Authenticator?
    /// As the caller wants it; see `cache`.
    let givenCache: CacheBinding?
    /// The replay stage before the network; nil for none.
    let stage: ReplayStage?
    let environment: ExchangeEnvironment
    package let quota: BodyQuota
    let identity: ExchangeIdentity
    let state: Mutex<State>
    /// Which events the observer may have from threads other than the loop.
    let telling = Mutex(Telling.notYet)

    /// - Parameter stage: the replay stage before the network; nil for none.
    init(
        _ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>, in environment: ExchangeEnvironment,
        _ setup: consuming ExchangeSetup, stage: ReplayStage?
    ) {
        let request = spec.download == nil ? request : Self.resumed(request, spec)
        givenCache = setup.cache
        self.stage = stage
        gate = setup.gate
        givenCookies = setup.cookies
        identity = setup.identity
        sessionCredentials = setup.sessionCredentials
        proxyAuthenticator = Authenticator.forProxies(of: spec, setup.sessionCredentials)
        destination = spec.destination
        maxInline = spec.maxInline
        keepsBody = setup.keepsBody
        plan = spec.shared
        download = spec.download
        self.environment = environment
        quota = setup.quota
        number = environment.counters.next()
        switch request {
        case .success(let attempt):
            url = attempt.url.described
            method = attempt.method
        case .failure:
            (method, url) = spec.excerpt
        }
        state = Mutex(State(spec, request, setup))
    }

    /// The request; for the rest of a download, as after the redirect that led to another origin.
    private static func resumed(
        _ request: Result<Attempt, HTTPFailure>, _ spec: RequestSpec
    ) -> Result<Attempt, HTTPFailure> {
        guard case .success(var attempt) = request, let home = spec.download?.home(apart: attempt.url) else {
            return request
        }
        var found = attempt
        found.url = home
        do throws(HTTPFailure) {
            _ = try (spec.shared?.plan.redirect ?? .follow).leaveBehind(of: found, in: &attempt)
            return .success(attempt)
        } catch {
            return .failure(error)
        }
    }

    deinit {
        let count = environment.counters.left(state.withLock { $0.snapshot.phase })
        if let count { quota.budget.note(exchanges: count) }
    }

    /// Sends the request, unless suspended before. Repeated calls have no effect.
    package func start() {
        let begins = state.withLock { state in
            guard !state.isStarted, state.snapshot.phase != .suspended || state.cancellation != nil else {
                return false
            }
            state.isStarted = true
            // a request that was cancelled before is not sent
            if state.cancellation == nil, state.snapshot.phase.mayBecome(.resumed) { enter(.resumed, &state) }
            return true
        }
        if begins { run() }
    }

    func run() {
        environment.counters.began()
        let loop = environment.transport.loop
        if loop.inEventLoop { carry(on: loop) } else { loop.execute { self.carry(on: loop) } }
    }

    private func carry(on loop: any EventLoop) {
        // a cache that is not used removes entries under its locks alone
        let usesCache = givenCache?.spec.isUnused == false
        guard usesCache || plan?.plan.sessionConnections != nil else { return drive(on: loop) }
        let shared = environment.transport.sharedLoop
        let (begun, showsResultAlone) = (ContinuousClock.now, showsResultAlone)
        // a stored response in memory shares locks alone
        if showsResultAlone || shared !== loop, let ready = onlyResponse {
            if showsResultAlone, ends(with: ready, begun: begun) { return }
            return drive(on: loop, ReadyAttempt(from: .cache(ready), on: loop))
        }
        if shared === loop { drive(on: loop) } else { shared.execute { self.drive(on: shared) } }
    }

    /// - Parameter ready: the first attempt, if known.
    private func drive(on loop: any EventLoop, _ ready: ReadyAttempt? = nil) {
        let driver = ExchangeDriver(self, on: loop, ready)
        state.withLock { $0.driver = driver }
        driver.start()
    }

    /// Ends the exchange with `explicitlyCancelled`, unless ended already.
    ///
    /// - Parameter keepingPartial: keep the partial file of a download, and put its resume data into the outcome.
    package func cancel(keepingPartial: Bool = false) {
        if keepingPartial { state.withLock { $0.keepsPartial = true } }
        end(with: HTTPFailure(.explicitlyCancelled, "the request was cancelled"))
        // only a started exchange has a driver to end it
        start()
    }

    /// Ends the exchange early, unless ended already.
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
        guard let carrier else { return renounce(failure) }
        tell(.requestCancelled) { .outcome(failure, attempt: attemptNumber) }
        if carrier.isSending { tell(.attemptCancelled) { .attempt(attemptNumber) } }
        carrier.driver?.cancel(failure)
        for gate in carrier.gates { gate() }
    }

    /// What the client has not taken, or is still to reply, holds up its end no longer.
    private func renounce(_ failure: HTTPFailure) {
        let (outlet, endConclusion) = state.withLock { ($0.isEnding ? $0.outlet : nil, $0.endConclusion) }
        outlet?.renounce(failure)
        endConclusion?()
    }

    /// Calls the work if the exchange is cancelled after it has ended.
    package func whenCancelledLate(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.endConclusion = work }
    }

    /// Releases a body that no client will read.
    package func dropBody() {
        let body = state.withLock { state in
            defer { state.outcome?.body = .none }
            return state.outcome?.body
        }
        if case .kept(let body) = body { body.release() }
    }

    /// Whether redirects are followed; true by default.
    package var followsRedirects: Bool { plan?.plan.redirect.follows ?? true }

    /// Whether the body becomes a file, to which no client can write before the exchange has ended.
    package var isDownload: Bool { download != nil }

    package var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Nil until the end.
    package var outcome: ExchangeOutcome? { state.withLock { $0.outcome } }

    /// Limit of a body that stays for `request.describe` and `har.export`.
    private static let shownBodyBytes = 4 << 10

    /// The outcome, once: unless `keepsBody`, only a short body stays in memory afterwards.
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

    /// Runs the work at the end of the exchange; at once if ended already.
    package func whenEnded(_ work: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.outcome == nil { state.whenEnded.append(work) }
            return state.outcome != nil
        }
        if isOver { work() }
    }

    /// The request on the wire.
    package var request: Result<Attempt, HTTPFailure> { state.withLock { $0.request } }

    /// The request on the wire, for display. After the end, and in a private file, a long body is replaced by standard
    /// input.
    package var shownRequest: Result<Attempt, HTTPFailure> {
        request.map { $0.bodyHolder == nil || $0.bodyHolder is MemoryCharge ? $0 : $0.withoutLongBody }
    }

    package var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Waits for the milestone or the end. False if the caller's task was cancelled first.
    package func reached(_ milestone: Milestone) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
                let outcome = state.withLock { state -> Bool? in
                    if state.outcome != nil { return true }
                    if milestone == .response, state.snapshot.head != nil { return true }
                    if Task.isCancelled { return false }
                    state.waiters.append(Waiter(id: id, milestone: milestone, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }
}
