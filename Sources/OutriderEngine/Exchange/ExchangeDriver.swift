// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Carries one exchange to its end on the event loop: what has happened goes to the machine, and its next step is done.
///
/// The driver has no task. The network, timers and admission tell it by completions that they are done; for code that is
/// `async` (callbacks, files, tokens) `wait` runs a short task, whose end is a completion, too.
///
/// Responsible for: doing the steps, one at a time; passing a cancellation on to the present wait.
/// Not responsible for: which step comes next (`ExchangeMachine`); what others see of the exchange (`Exchange`).
// proof: everything runs on the loop of the transport; other threads only carry the reference there.
final class ExchangeDriver: @unchecked Sendable {
    /// What the driver waits for, other than an attempt on the wire.
    private enum Wait {
        case none, admission
        case task(Task<Void, Never>)
        case delay(Postponed)
    }

    let exchange: Exchange
    let observer: (any ExchangeObserver)?
    let outlet: (any BodyOutlet)?
    /// Nil if the exchange is no download.
    let download: DownloadRun?
    let loop: any EventLoop
    private let executor: LoopExecutor
    private let isNew: Bool
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
    /// Why the exchange is to end early, once the driver knows it.
    private(set) var cancellation: HTTPFailure?

    /// What is sent; nil if it could not be built.
    var attempt: Attempt?
    /// When the attempt began, and what had been held up until then; nil if that was when the exchange did.
    var attemptBegan: (instant: ContinuousClock.Instant, held: Duration)?
    /// The attempt on the wire.
    var sending: (any LoopAttempt)?
    /// The attempt has been given to the transport, and is not over.
    private var isCarried = false
    var signing = AttemptSigning()
    /// The tokens of credentials that the attempt was given, by name.
    var given: [String: GivenToken] = [:]
    /// When the host was found to be offline; nil if the last attempt came further.
    var offlineSince: ContinuousClock.Instant?
    /// The next retry has a new token, and does not burden the server more.
    var isForToken = false

    var answer: AttemptResponse?
    var hops: [RedirectHop] = []
    var timelines: [Timeline] = []
    var sink: BodySink
    /// The body, once it was reviewed before the end.
    var body: ExchangeOutcome.Body?
    /// The body was begun, and did not arrive whole.
    var isTruncated = false

    /// On the loop.
    init(_ exchange: Exchange, on loop: any EventLoop) {
        self.exchange = exchange
        self.loop = loop
        executor = exchange.surroundings.executors.current
        (observer, isNew) = exchange.introduce()
        outlet = exchange.outlet
        heldBefore = exchange.held(at: began)
        sink = Self.sink(for: exchange)
        download = exchange.download.map { [observer] in DownloadRun($0, exchange, observer) }
        var steps = exchange.plan?.plan.steps ?? ExchangeMachine.Steps()
        if exchange.turns != nil { steps.insert(.admit) }
        let most = exchange.plan?.plan.isLasting == true ? .max : exchange.surroundings.mostAttempts
        switch exchange.request {
        case .success(let attempt):
            self.attempt = attempt
            machine = ExchangeMachine(steps, mostAttempts: most)
            if let most = attempt.timeouts.resource { exchange.limitResource(most) }
            if steps.contains(.retry) { exchange.surroundings.budgets.attempted(attempt.url.origin) }
        case .failure(let failure):
            machine = ExchangeMachine(steps, unbuilt: failure, mostAttempts: most)
        }
    }

    static func sink(for exchange: Exchange, _ destination: BodyDestination? = nil) -> BodySink {
        BodySink(
            destination ?? exchange.destination, maxInline: exchange.maxInline,
            store: BodyStore(quota: exchange.quota, workspace: exchange.surroundings.workspace))
    }

    /// Begins; on the loop, once.
    func start() {
        guard observer != nil else { return begin() }
        let resumed = { @Sendable in self.tell(.state(.resumed, at: .now)) { self.begin() } }
        if isNew { tell(.state(.created, at: exchange.created), then: resumed) } else { resumed() }
    }

    /// What was cancelled before it began is not sent at all.
    private func begin() {
        if let failure = exchange.cancellation {
            cancellation = failure
            return proceed(machine.failed(failure))
        }
        exchange.tell(.requestResumed) { .attempt(0) }
        proceed(machine.start())
    }

    // MARK: steps

    /// The machine has decided what comes next. Steps follow one another here, however deep the call is that this came from.
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
        // it may have been cancelled in this turn of the loop, before `cancel` takes effect
        if cancellation == nil { cancellation = exchange.cancellation }
        let step = cancellation.map { ended(decided, with: $0) } ?? decided
        if exchange.turns != nil, !step.isOnWire { exchange.giveTurn() }
        entered(step)
        switch step {
        case .adapt: adapt()
        case .admit: admit()
        case .send: send()
        case .judge: judge()
        case .receive: receive()
        case .review: review()
        case .ask(let failure): ask(about: failure)
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
        // no retrier is asked about that
        guard case .ask = ending else { return ending }
        return machine.failed(failure)
    }

    /// The attempt is over as soon as nothing of it is on the wire.
    private func entered(_ step: ExchangeMachine.Step) {
        guard isCarried, !step.isOnWire else { return }
        isCarried = false
        exchange.tell(.attemptCompleted) { .outcome(step.failure, attempt: machine.attempts) }
    }

    /// An event out of turn is a mistake in the engine. Release builds go on: the event changed nothing.
    private static func report(_ event: String) { assertionFailure("exchange: \(event)") }

    // MARK: waiting

    /// Runs async work, and goes on with its result on the loop. Cancelling the exchange cancels the work.
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
        // it may have ended already
        guard waits == number else { return }
        waiting = .task(task)
        if cancellation != nil, !isOfEnd { task.cancel() }
    }

    /// Waits until the exchange is not suspended, or cancelled.
    func whenResumed(_ completion: @escaping @Sendable () -> Void) {
        exchange.whenResumed { [loop] in
            loop.execute(completion)
        } orNow: {
            completion()
        }
    }

    /// Tells the observer, and goes on once it has taken the event.
    func tell(_ event: ExchangeEvent, then completion: @escaping @Sendable () -> Void) {
        guard let delivery = observer?.heard(event) else { return completion() }
        // a cancelled request still tells its end
        wait(for: delivery, isOfEnd: cancellation != nil, then: completion)
    }

    /// The same for async code.
    func told(_ event: ExchangeEvent) async { await observer?.heard(event)?() }

    private func delay(_ seconds: Double) {
        let alarm = exchange.surroundings.executors.later(seconds: min(max(seconds, 0), 86400)) {
            self.onLoop { self.delayEnded() }
        }
        waiting = .delay(alarm)
        if isLasting, seconds > 0.1 { awaitNetwork() }
    }

    /// What goes on for as long as it can need not wait where the network has just come, or is another one.
    private func awaitNetwork() {
        guard let url = attempt.map({ $0.proxy?.url ?? $0.url }) else { return }
        let before = NetworkPath.sample(to: url)
        pathWatch = exchange.surroundings.paths.watch { [weak self] in
            let now = NetworkPath.sample(to: url)
            guard let self, now != before, now.status == .reachable else { return }
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
        if let pathWatch { exchange.surroundings.paths.unwatch(pathWatch) }
        pathWatch = nil
        if let cancellation { proceed(machine.failed(cancellation)) } else { restart(machine.waited()) }
    }

    private func admit() {
        guard let turns = exchange.turns, exchange.needsTurn else { return proceed(machine.admitted()) }
        waiting = .admission
        turns.enter(exchange, exchange.plan?.plan.priority ?? .normal) {
            self.exchange.tell(.requestQueued) { .attempt(self.exchange.attemptNumber) }
        } completion: { failure in
            if failure == nil { self.exchange.turnTaken() }
            self.onLoop { self.admitted(failure) }
        }
    }

    private func admitted(_ failure: HTTPFailure?) {
        guard case .admission = waiting else { return }
        waiting = .none
        proceed(failure.map { failed($0) } ?? machine.admitted())
    }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }

    /// The exchange is to end early. From anywhere; takes effect on the loop.
    func cancel(_ failure: HTTPFailure) { loop.execute { self.cancelled(failure) } }

    private func cancelled(_ failure: HTTPFailure) {
        // if a step has noticed it already, only the end follows
        guard cancellation == nil else { return }
        cancellation = failure
        switch waiting {
        case .task(let task): task.cancel()
        case .delay(let alarm):
            alarm.cancel()
            delayEnded()
        case .admission:
            // where admission came first, its completion is on its way
            if exchange.turns?.withdraw(exchange) == true { admitted(failure) }
        case .none: sending?.cancel()
        }
    }

    // MARK: what is told of an attempt

    /// The attempt ended without a response that is of use.
    func failed(_ failure: HTTPFailure) -> ExchangeMachine.Step {
        if let lost = exchange.takeLost() { add(lost) }
        if download != nil, answer != nil, !isTruncated { giveUp() }
        if !isCarried { exchange.tell(.attemptFailedEarly) { .outcome(failure, attempt: machine.attempts) } }
        return machine.failed(failure)
    }

    /// The transport is about to get it.
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

    /// The driver is done: nothing of it is needed any more.
    func close() {
        sending = nil
        waiting = .none
    }

    /// Async work that may fail, as a value.
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
