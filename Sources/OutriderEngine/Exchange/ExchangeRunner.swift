// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Carries one exchange to its end: asks the machine, does it, tells the machine.
struct ExchangeRunner: ~Copyable {
    let exchange: Exchange
    let observer: (any ExchangeObserver)?
    let outlet: (any BodyOutlet)?
    let began = ContinuousClock.now
    /// What is being sent; nil where it could not be built.
    var attempt: Attempt?
    /// When the attempt began, and what had been held up until then; nil if that was when the exchange did.
    var attemptBegan: (instant: ContinuousClock.Instant, held: Duration)?
    private let heldBefore: Duration
    /// When it was found to be offline; nil if the last attempt came further.
    var offlineSince: ContinuousClock.Instant?
    var answer: AttemptResponse?
    var hops: [RedirectHop] = []
    private var timelines: [Timeline] = []
    var sink: BodySink
    /// Nil for what is no download.
    let download: DownloadRun?
    /// The body, once somebody looked at it before the end.
    private var body: ExchangeOutcome.Body?
    /// The tokens of credentials that the attempt was given, by name.
    var given: [String: GivenToken] = [:]
    /// The next retry has a new token: that does not burden the server more.
    var isForToken = false
    /// How the next sending is to be signed, where a server asked.
    var nextSignature: Signature?
    /// How the last one was.
    var sentAs: SentSignature?
    /// When that began.
    var sentAt = ContinuousClock.now
    /// The attempt that has told its authenticator so.
    var signedAttempt = 0
    var proxySigning = ProxySigning()
    /// What the server says of the body that is coming.
    var bodyProof: BodyProof?
    private let isNew: Bool
    /// The attempt has been given to the transport, and is not over.
    private var isCarried = false
    /// The body was begun, and did not arrive whole.
    private var isTruncated = false

    init(_ exchange: Exchange) {
        self.exchange = exchange
        (observer, isNew) = exchange.introduce()
        outlet = exchange.outlet
        heldBefore = exchange.held(at: began)
        sink = Self.sink(for: exchange)
        download = exchange.download.map { [observer] in DownloadRun($0, exchange, observer) }
    }

    static func sink(for exchange: Exchange, _ destination: BodyDestination? = nil) -> BodySink {
        BodySink(
            destination ?? exchange.destination, maxInline: exchange.maxInline,
            store: BodyStore(quota: exchange.quota, workspace: exchange.surroundings.workspace))
    }

    mutating func run() async {
        if let observer {
            if isNew { await observer.heard(.state(.created, at: exchange.created)) }
            await observer.heard(.state(.resumed, at: .now))
        }
        var machine = makeMachine()
        let step = start(&machine)
        await run(&machine, from: step)
    }

    /// The first step: what was cancelled before it began is not sent at all.
    func start(_ machine: inout ExchangeMachine) -> ExchangeMachine.Step {
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        exchange.tell(.requestResumed) { .attempt(0) }
        return machine.start()
    }

    /// Goes on from a step.
    mutating func run(_ machine: inout ExchangeMachine, from first: ExchangeMachine.Step) async {
        var step = first
        while true {
            if exchange.turns != nil, !step.isOnWire { exchange.giveTurn() }
            entered(step, machine.attempts)
            switch step {
            case .adapt: step = await adapt(&machine)
            case .send: step = await send(&machine)
            case .judge: step = await judge(&machine)
            case .receive: step = await receive(&machine)
            case .review: step = await review(&machine)
            case .ask(let failure): step = await ask(about: failure, &machine)
            case .wait(let seconds):
                await exchange.sleep(seconds)
                step = await goOn(&machine)
            case .finish(let failure):
                await finish(failure, attempts: machine.attempts)
                return
            }
        }
    }

    /// The attempt is over as soon as nothing of it is on the wire.
    mutating func entered(_ step: ExchangeMachine.Step, _ attempts: Int) {
        guard isCarried, !step.isOnWire else { return }
        isCarried = false
        exchange.tell(.attemptCompleted) { .outcome(step.failure, attempt: attempts) }
    }

    mutating func makeMachine() -> ExchangeMachine {
        let steps = exchange.plan?.plan.steps ?? ExchangeMachine.Steps()
        let most = isLasting ? .max : exchange.surroundings.mostAttempts
        switch exchange.request {
        case .success(let attempt):
            self.attempt = attempt
            if let most = attempt.timeouts.resource { exchange.limitResource(most) }
            if steps.contains(.retry) { exchange.surroundings.budgets.attempted(attempt.url.origin) }
            return ExchangeMachine(steps, mostAttempts: most)
        case .failure(let failure):
            return ExchangeMachine(steps, unbuilt: failure, mostAttempts: most)
        }
    }

    private mutating func send(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        guard var attempt else { return machine.failed(.unbuilt) }
        if observer != nil { exchange.watch(attempt.timeouts.total) }
        do throws(HTTPFailure) {
            if exchange.turns != nil { try await exchange.takeTurn() }
            while try !exchange.begin(attempt: machine.attempts) { await exchange.untilResumed() }
            if let download { try await download.prepare(&attempt) }
            let authenticator = exchange.authenticator
            var outgoing = attempt
            if let authenticator { outgoing = try await signed(attempt, by: authenticator, machine.attempts) }
            if exchange.proxyAuthenticator != nil {
                outgoing = try await signedForProxy(outgoing, machine.attempts)
            }
            tellSending(outgoing, machine.attempts)
            let answer = try await exchange.surroundings.transport.send(outgoing, observer: exchange)
            tellAnswer(answer)
            if exchange.proxyAuthenticator != nil,
                try await isChallengedByProxy(answer, attempt, machine.attempts)
            {
                return machine.challenged()
            }
            if let authenticator, try await isChallenged(answer, attempt, by: authenticator, machine.attempts) {
                return machine.challenged()
            }
            return await heard(answer, to: attempt, &machine)
        } catch {
            guard error.kind == .proxyAuthenticationRequired else { return failed(error, &machine) }
            return await refusedByProxy(error, attempt, &machine)
        }
    }

    /// The head of an answer has come, and it asks nobody who they are.
    mutating func heard(
        _ answer: AttemptResponse, to attempt: Attempt, _ machine: inout ExchangeMachine
    ) async -> ExchangeMachine.Step {
        do throws(HTTPFailure) {
            if RedirectPolicy.redirects(answer.status), try await follow(answer, attempt, machine.attempts) {
                return machine.redirected()
            }
            self.answer = answer
            let head = ExchangeHead(answer)
            if let download, try await !download.accept(answer, attempt) {
                await drain(answer.body)
                note(answer.body.timeline)
                self.answer = nil
                return machine.unfinished()
            }
            let body = answer.body
            let expected = download.map(\.total) ?? body.expectedBytes
            while !exchange.answered(head, expecting: expected, onWire: download == nil ? body.wireBytes?.of : nil) {
                await exchange.untilResumed()
            }
            if let observer {
                await observer.heard(.state(.responded, at: .now))
                await observer.heard(.response(head, url: url, attempt: machine.attempts))
            }
            return machine.answered()
        } catch {
            return failed(error, &machine)
        }
    }

    /// The attempt ended without an answer that is of use.
    mutating func failed(_ failure: HTTPFailure, _ machine: inout ExchangeMachine) -> ExchangeMachine.Step {
        if let lost = exchange.takeLost() { add(lost) }
        if download != nil, answer != nil, !isTruncated { giveUp() }
        if !isCarried { exchange.tell(.attemptFailedEarly) { .outcome(failure, attempt: machine.attempts) } }
        return machine.failed(failure)
    }

    /// - Parameter first: what has been taken from the body already, and nothing has been done with.
    mutating func receive(
        _ machine: inout ExchangeMachine, first: ByteBuffer? = nil
    ) async -> ExchangeMachine.Step {
        var first = first
        guard let body = answer?.body else { return machine.received() }
        if let download { return await receive(body, for: download, &machine) }
        if outlet != nil {
            if let refusal = await refusedToken() { return machine.failed(refusal) }
            if let step = await askBeforeBody(&machine) { return step }
        }
        do throws(HTTPFailure) {
            sink.expect(body.expectedBytes)
            if let outlet, let answer { try await outlet.begin(ExchangeHead(answer), expecting: body.expectedBytes) }
            while true {
                guard let chunk = if let taken = first.take() { taken } else { try await body.next() } else { break }
                bodyProof?.take(chunk)
                try await sink.take(chunk)
                if let outlet { try await outlet.take(BodyChunk(chunk)) }
                let (report, goesOn) = exchange.received(Int64(sink.size), onWire: body.wireBytes?.got)
                if let report { await tell(report) }
                if !goesOn { await exchange.untilResumed() }
            }
            if let fault = bodyProof?.fault { throw fault }
            if let outlet { try await outlet.finish() }
            add(body.timeline)
            return machine.received()
        } catch {
            giveUp(isWhole: error.kind == .serverAuthenticationFailed)
            return machine.failed(error)
        }
    }

    /// Seconds since the exchange, or its attempt, began; without those in which it was held up.
    func elapsed(inAttempt: Bool) -> Double {
        let start = inAttempt ? attemptBegan ?? (began, heldBefore) : (began, heldBefore)
        let now = ContinuousClock.now
        return (now - start.0 - (exchange.held(at: now) - start.1)).seconds
    }

    /// The rest of the body is not wanted.
    ///
    /// - Parameter isWhole: there is no rest.
    mutating func giveUp(isWhole: Bool = false) {
        guard let body = answer?.body else { return }
        isTruncated = !isWhole
        body.abandon()
        add(body.timeline)
    }

    /// The times of an answer that is not the last.
    mutating func note(_ timeline: Timeline) {
        add(timeline)
        exchange.note(timelines)
    }

    mutating func add(_ timeline: Timeline) {
        timelines.append(timeline)
        exchange.tell(.attemptMeasured) {
            .timeline(timeline, version: answer?.version, attempt: exchange.attemptNumber)
        }
    }

    /// The transport is about to get it.
    mutating func tellSending(_ attempt: Attempt, _ number: Int) {
        let isFirst = !isCarried
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

    func tellAnswer(_ answer: AttemptResponse) {
        exchange.tell(.attemptAnswered) {
            .head(status: answer.status, version: answer.version, answer.fields, attempt: exchange.attemptNumber)
        }
        if let source = ChallengeSource(status: answer.status) { tellChallenge(answer.fields, by: source) }
    }

    /// Where it is now: the request's URL, unless something led elsewhere.
    var url: String {
        guard let attempt, exchange.plan != nil || !hops.isEmpty else { return exchange.url }
        return attempt.url.described
    }

    /// Everything that has come, for somebody to look at before the end.
    mutating func wholeBody() async throws(HTTPFailure) -> ExchangeOutcome.Body {
        if let body { return body }
        if let download { return download.whole(contentType: answer?.fields.first("Content-Type")) }
        let contentType = answer?.fields.first("Content-Type")
        let whole = try await sink.finish(keeping: exchange.keepsBody, contentType: contentType)
        body = whole
        return whole
    }

    /// Begins again: nothing of what came stays.
    mutating func forgetAnswer() {
        if case .kept(let kept) = body { kept.release() }
        body = nil
        download?.forget()
        answer = nil
        bodyProof = nil
        hops = []
        isTruncated = false
        sink = Self.sink(for: exchange)
        if isLasting { forgetOldTimelines() }
        exchange.note(timelines)
    }

    /// Whether it goes on for as long as its retriers want.
    var isLasting: Bool { exchange.plan?.plan.isLasting == true }

    private mutating func forgetOldTimelines() {
        let old = timelines.dropLast(Exchange.rememberedAttempts)
        guard !old.isEmpty else { return }
        exchange.surroundings.counters.moved(
            sent: old.reduce(0) { $0 &+ $1.bytesSent }, received: old.reduce(0) { $0 &+ $1.bytesReceived })
        timelines.removeFirst(old.count)
    }

    private func tell(_ report: ProgressReport) async {
        if report.isLast {
            await observer?.heard(.progress(report))
        } else {
            observer?.glimpsed(.progress(report))
        }
    }

    private mutating func finish(_ failure: HTTPFailure?, attempts: Int) async {
        var failure = failure
        var body = ExchangeOutcome.Body.none
        var size = sink.size
        var ending = DownloadRun.Ending()
        if let download {
            ending = await download.end(failure, contentType: answer?.fields.first("Content-Type"))
            (failure, body, size) = (ending.failure, ending.body, ending.size)
        } else if answer != nil {
            do throws(HTTPFailure) {
                body = try await wholeBody()
            } catch {
                isTruncated = true
                failure = failure ?? error
            }
        }
        for report in exchange.lastProgress(isWhole: answer != nil && !isTruncated) {
            await observer?.heard(.progress(report))
        }
        var outcome = outcome(body, failure, attempts: attempts)
        outcome.bodyBytes = size
        (outcome.resumeData, outcome.suggestedName) = (ending.resumeData, ending.suggestedName)
        await exchange.end(outcome, observer)
    }

    func outcome(_ body: ExchangeOutcome.Body, _ failure: HTTPFailure?, attempts: Int) -> ExchangeOutcome {
        ExchangeOutcome(
            url: url, method: attempt?.method ?? exchange.method, head: answer.map(ExchangeHead.init), body: body,
            bodyBytes: sink.size, isTruncated: isTruncated, failure: failure, attempts: attempts, redirects: hops,
            timelines: timelines, total: (ContinuousClock.now - began).seconds)
    }
}

extension ExchangeHead {
    init(_ answer: AttemptResponse) {
        self.init(status: answer.status, version: answer.version, fields: answer.fields)
    }
}

extension HTTPFailure {
    static var unbuilt: HTTPFailure { HTTPFailure(.createURLRequestFailed, "the request could not be built") }
}

extension Duration {
    package var seconds: Double {
        let (seconds, attoseconds) = components
        // whole nanoseconds, whose decimal form is short
        return (Double(seconds) * 1e9 + Double(attoseconds / 1_000_000_000)) / 1e9
    }
}
