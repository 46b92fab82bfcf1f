// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Carries an exchange to its end on the event loop: reports events to the machine, and performs its next step.
///
/// The driver has no task. The network, timers and admission call completions; for `async` code (callbacks, files,
/// tokens) `wait` runs a short task, whose end is a completion, too.
///
/// Responsible for: performing the steps, one at a time; passing a cancellation on to the present wait.
/// Not responsible for: the choice of steps (`ExchangeMachine`); the state as seen from outside (`Exchange`).
// proof: everything runs on `loop`, one of the transport; other threads only carry the reference there.
final class ExchangeDriver: @unchecked Sendable {
    /// The present wait, other than an attempt on the wire.
    private enum Wait {
        case none, admission
        case task(Task<Void, Never>)
        case delay(ScheduledWork)
    }

    let exchange: Exchange
    let observer: (any ExchangeObserver)?
    let outlet: (any BodyOutlet)?
    /// Nil if the exchange is no download.
    let download: DownloadRun?
    let loop: any EventLoop
    private let executor: LoopExecutor
    /// Ends a delay when the network has changed.
    private var pathWatch: Int?
    let began = ContinuousClock.now
    let heldBefore: Duration

    var machine: ExchangeMachine
    private var next: ExchangeMachine.Step?
    private var isStepping = false
    private var waiting = Wait.none
    /// Counted up when a task begins, and when it has ended.
    private var waits = 0
    /// The failure of a cancelled exchange, once the driver knows of the cancellation.
    private(set) var cancellation: HTTPFailure?

    /// The request to send; nil if building failed.
    var attempt: Attempt?
    /// The beginning of the attempt, and the time held until then; nil for a first attempt without a wait for a turn,
    /// which begins with the exchange.
    var attemptBegan: (instant: ContinuousClock.Instant, held: Duration)?
    /// The attempt on the wire.
    var sending: (any LoopAttempt)?
    /// Of the attempt on the wire: a cassette may have been taken out when its response comes.
    var cookies: ExchangeCookies?
    /// The URL in the cache and the time of the response that the last retry followed; nil if there was none.
    var refused: (url: String, moment: Int64)?
    /// The attempt to carry first, if its response was found before the start.
    var ready: ReadyAttempt?
    /// The transport has the attempt, which is not over.
    private(set) var isCarried = false
    var signing = AttemptSigning()
    /// The tokens of credentials in the attempt, by credential name.
    var given: [String: GivenToken] = [:]
    /// When the host was found to be offline; nil if the last attempt came further.
    var offlineSince: ContinuousClock.Instant?
    /// The next retry has a new token, and does not count against the retry budget.
    var isForToken = false

    var response: AttemptResponse?
    var hops: [RedirectHop] = []
    var timelines: [Timeline] = []
    var sink: BodySink
    /// The body, once reviewed before the end.
    var body: ExchangeOutcome.Body?
    /// The body began, and did not arrive completely.
    var isTruncated = false
    /// The body is the page of a response that the exchange fails with: no progress of the body that was requested.
    var isPage = false

    /// To be called on the loop.
    init(_ exchange: Exchange, on loop: any EventLoop, _ ready: ReadyAttempt? = nil) {
        self.exchange = exchange
        self.loop = loop
        self.ready = ready
        executor = exchange.environment.executors.current
        observer = exchange.observer
        outlet = exchange.outlet
        heldBefore = exchange.held(at: began)
        sink = Self.sink(for: exchange)
        download = exchange.download.map { [observer] in DownloadRun($0, exchange, observer) }
        var steps = exchange.plan?.plan.steps ?? ExchangeMachine.Steps()
        if exchange.gate != nil { steps.insert(.admit) }
        let most = exchange.plan?.plan.isLasting == true ? .max : exchange.environment.mostAttempts
        switch exchange.request {
        case .success(let attempt):
            self.attempt = attempt
            machine = ExchangeMachine(steps, mostAttempts: most)
            if let most = attempt.timeouts.resource { exchange.limitResource(most) }
            if steps.contains(.retry) { exchange.environment.budgets.attempted(attempt.url.origin) }
        case .failure(let failure):
            machine = ExchangeMachine(steps, unbuilt: failure, mostAttempts: most)
        }
    }

    static func sink(for exchange: Exchange, _ destination: BodyDestination? = nil) -> BodySink {
        BodySink(
            destination ?? exchange.destination, maxInline: exchange.maxInline,
            store: BodyStore(quota: exchange.quota, workspace: exchange.environment.workspace))
    }

    /// Begins; on the loop, once.
    func start() {
        guard let observer else { return begin() }
        let created = exchange.introduce { observer.receive(.state(.created, at: exchange.created)) }
        deliver(created) {
            if self.exchange.cancellation != nil { return self.begin() }
            self.tell(.state(.resumed, at: .now)) { self.begin() }
        }
    }

    /// A request that was cancelled before is not sent.
    private func begin() {
        if let failure = exchange.cancellation {
            cancellation = failure
            return proceed(machine.failed(failure))
        }
        exchange.tell(.requestResumed) { .attempt(0) }
        proceed(machine.start())
    }

    // MARK: steps

    /// Performs the machine's step. Steps run in this loop, not recursively, however deep the call.
    func proceed(_ step: ExchangeMachine.Step) {
        if case .ignore(let event) = step { return Self.report(event) }
        next = step
        guard !isStepping else { return }
        isStepping = true
        while let step = next {
            next = nil
            perform(step)
        }
        isStepping = false
    }

    private func perform(_ decided: ExchangeMachine.Step) {
        // a cancellation may precede its `cancel` in this turn of the loop
        if cancellation == nil { cancellation = exchange.cancellation }
        let step = cancellation.map { ended(decided, with: $0) } ?? decided
        if exchange.gate != nil, !step.isOnWire { exchange.giveTurn() }
        entered(step)
        switch step {
        case .adapt: adapt()
        case .admit: admit()
        case .send: send()
        case .judge: judge()
        case .receive: receive()
        case .review: review()
        case .consult(let failure): consult(about: failure)
        case .wait(let seconds): delay(seconds)
        case .finish(let failure): finish(failure)
        case .ignore(let event): Self.report(event)
        }
    }

    /// A cancelled exchange takes no further step.
    private func ended(_ step: ExchangeMachine.Step, with failure: HTTPFailure) -> ExchangeMachine.Step {
        if case .finish = step { return step }
        if case .send = step {} else if step.isOnWire { giveUp() }
        let ending = machine.failed(failure)
        // no retrier decides about a cancellation
        guard case .consult = ending else { return ending }
        return machine.failed(failure)
    }

    /// Reports the end of the attempt with the first step that is not on the wire.
    private func entered(_ step: ExchangeMachine.Step) {
        guard isCarried, !step.isOnWire else { return }
        isCarried = false
        exchange.tell(.attemptCompleted) { .outcome(step.failure, attempt: machine.attempts) }
    }

    /// An unexpected event is a bug in the engine. Release builds continue: the event had no effect.
    private static func report(_ event: String) { assertionFailure("exchange: \(event)") }

    // MARK: waiting

    /// Runs async work, and completes with its result on the loop. Cancelling the exchange cancels the work.
    ///
    /// - Parameter isOfEnd: the work belongs to the end of a cancelled exchange, and is not cancelled.
    func wait<Value: Sendable>(
        for work: @escaping @Sendable () async -> Value, isOfEnd: Bool = false,
        then completion: @escaping @Sendable (Value) -> Void
    ) {
        waits &+= 1
        let number = waits
        let task = Task.immediate(executorPreference: executor) {
            let value = await work()
            self.waits &+= 1
            self.waiting = .none
            completion(value)
        }
        // the task may have ended already
        guard waits == number else { return }
        waiting = .task(task)
        if cancellation != nil, !isOfEnd { task.cancel() }
    }

    /// Waits until the exchange is resumed or cancelled.
    func whenResumed(_ completion: @escaping @Sendable () -> Void) {
        exchange.whenResumed { [loop] in
            loop.execute(completion)
        } orNow: {
            completion()
        }
    }

    /// Tells the observer, and completes once the event is delivered.
    func tell(_ event: ExchangeEvent, then completion: @escaping @Sendable () -> Void) {
        deliver(observer?.receive(event), then: completion)
    }

    private func deliver(_ delivery: EventDelivery?, then completion: @escaping @Sendable () -> Void) {
        guard let delivery else { return completion() }
        // a cancelled request still reports its end
        wait(for: delivery, isOfEnd: cancellation != nil, then: completion)
    }

    /// The same for async code.
    func told(_ event: ExchangeEvent) async { await observer?.receive(event)?() }

    private func delay(_ wanted: Double) {
        let seconds = min(max(paced(wanted), 0), 86400)
        let alarm = exchange.environment.executors.later(seconds: seconds) {
            self.onLoop { self.delayEnded() }
        }
        waiting = .delay(alarm)
        if isLasting, seconds > 0.1 { awaitNetwork() }
    }

    /// The delay before an attempt that a cassette plays: as its timing says, since no server is in trouble.
    private func paced(_ seconds: Double) -> Double {
        guard let stage = exchange.stage, let url = attempt?.url.description, stage.playsOnly(url) else {
            return seconds
        }
        // a pause bounds the work of an exchange whose last response is repeated for ever
        return min(seconds, max(seconds * stage.factor(for: url), 0.01))
    }

    /// Ends the delay of a lasting exchange early if the network came back or changed.
    private func awaitNetwork() {
        guard let url = attempt.map({ $0.proxy?.url ?? $0.url }) else { return }
        // the network may go and come back as it was
        let last = Mutex(NetworkPath.sample(to: url))
        pathWatch = exchange.environment.paths.watch { [weak self] in
            let now = NetworkPath.sample(to: url)
            let isOther = last.withLock { last in
                defer { last = now }
                return now != last
            }
            guard let self, isOther, now.status == .reachable else { return }
            self.onLoop { self.networkCame() }
        }
    }

    private func networkCame() {
        guard case .delay(let alarm) = waiting else { return }
        alarm.cancel()
        delayEnded()
    }

    private func delayEnded() {
        guard case .delay = waiting else { return }
        waiting = .none
        if let pathWatch { exchange.environment.paths.unwatch(pathWatch) }
        pathWatch = nil
        if let cancellation { proceed(machine.failed(cancellation)) } else { restart(machine.waited()) }
    }

    private func admit() {
        guard let gate = exchange.gate, exchange.needsTurn else { return proceed(machine.admitted()) }
        waiting = .admission
        gate.enter(exchange, exchange.plan?.plan.priority ?? .normal) {
            self.exchange.tell(.requestQueued) { .attempt(self.exchange.attemptNumber) }
        } completion: { failure in
            if failure == nil { self.exchange.turnTaken() }
            self.onLoop { self.admitted(failure) }
        }
    }

    private func admitted(_ failure: HTTPFailure?) {
        guard case .admission = waiting else { return }
        waiting = .none
        // timeouts begin with the attempt, behind the wait for a turn
        let now = ContinuousClock.now
        attemptBegan = (now, exchange.held(at: now))
        proceed(failure.map { failed($0) } ?? machine.admitted())
    }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }

    /// Ends the exchange early. May be called on any thread; takes effect on the loop.
    func cancel(_ failure: HTTPFailure) { loop.execute { self.cancelled(failure) } }

    private func cancelled(_ failure: HTTPFailure) {
        // if a step has noticed the cancellation already, only the end follows
        guard cancellation == nil else { return }
        cancellation = failure
        switch waiting {
        case .task(let task): task.cancel()
        case .delay(let alarm):
            alarm.cancel()
            delayEnded()
        case .admission:
            // if the exchange was admitted before, the completion is on its way
            if exchange.gate?.withdraw(exchange) == true { admitted(failure) }
        case .none: sending?.cancel()
        }
    }

    // MARK: reports of an attempt

    /// The attempt ended without a usable response.
    func failed(_ failure: HTTPFailure) -> ExchangeMachine.Step {
        if let lost = exchange.takeLost() { add(lost) }
        if let download, response != nil, !isTruncated, !download.isRefused { giveUp() }
        if !isCarried { exchange.tell(.attemptFailedEarly) { .outcome(failure, attempt: machine.attempts) } }
        return machine.failed(failure)
    }

    /// Reports that the transport is about to get the attempt.
    func tellSending(_ attempt: Attempt) {
        let (isFirst, number) = (!isCarried, machine.attempts)
        isCarried = true
        exchange.tell(.requestPrepared) { .request(attempt, attempt: number) }
        if isFirst {
            exchange.tell(.attemptCreated) { .attempt(number) }
            exchange.tell(.attemptResumed) { .attempt(number) }
        }
        if attempt.body != .none, number > 1 || !isFirst {
            exchange.tell(.uploadRepeated) { .attempt(number) }
        }
    }

    /// Releases the driver's references at the end.
    func close() {
        sending = nil
        waiting = .none
    }

    /// The result of async work that may fail.
    static func result<Value: Sendable>(
        _ work: () async throws(HTTPFailure) -> Value
    ) async -> Result<Value, HTTPFailure> {
        do throws(HTTPFailure) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }
}

extension HTTPFailure {
    static var unbuilt: HTTPFailure { HTTPFailure(.createURLRequestFailed, "the request could not be built") }
}
