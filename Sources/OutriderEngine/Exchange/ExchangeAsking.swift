// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The parts of an exchange that only some have: adapters, redirects, judging, retriers.
extension ExchangeRunner {
    /// Makes the attempt from the request, with all adapters from the first.
    mutating func adapt(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        do throws(HTTPFailure) {
            if let failure = exchange.cancellation { throw failure }
            let attempt = try await adapted(try exchange.built.get(), machine)
            self.attempt = attempt
            exchange.sends(attempt)
            let number = machine.attempts + 1
            exchange.tell(.requestAdapted) { .request(attempt, attempt: number) }
            if exchange.become(.adapted) { await observer?.heard(.state(.adapted, at: .now)) }
            return machine.adapted()
        } catch {
            let number = machine.attempts + 1
            exchange.tell(.requestAdaptationFailed) { .outcome(error, attempt: number) }
            return machine.failed(error)
        }
    }

    /// Throws `requestAdaptationFailed`, whatever an adapter had to say.
    private mutating func adapted(
        _ built: Attempt, _ machine: borrowing ExchangeMachine
    ) async throws(HTTPFailure) -> Attempt {
        var attempt = built
        given = [:]
        do throws(HTTPFailure) {
            let adaptations = exchange.plan?.plan.adaptations ?? []
            var isAsked = false
            for adaptation in adaptations {
                switch adaptation {
                case .callback(let name):
                    let moment = moment(attempt, machine, isNext: true)
                    exchange.hold()
                    defer { exchange.release() }
                    if let advisor = exchange.advisor { attempt = try await advisor.adapt(name, moment) }
                    isAsked = true
                case .compress(let compression): try await compression.apply(to: &attempt)
                case .oauth(let name, let isRequired):
                    try await applyToken(of: name, isRequired: isRequired, to: &attempt, home: built.url)
                default: adaptation.apply(to: &attempt, home: built.url)
                }
            }
            // only the client's code can lead elsewhere
            if isAsked {
                adaptations.withholdCredentials(from: &attempt, home: built.url)
                withholdTokens(from: &attempt)
            }
            try Adaptation.check(attempt, madeOf: built)
        } catch {
            throw Adaptation.failure(error)
        }
        return attempt
    }

    /// Goes where the answer leads, if it does and may.
    mutating func follow(
        _ answer: AttemptResponse, _ attempt: Attempt, _ number: Int
    ) async throws(HTTPFailure) -> Bool {
        let found: (attempt: Attempt, hop: RedirectHop)?
        do throws(HTTPFailure) {
            found = try await wayOn(from: answer, attempt, number)
        } catch {
            // the answer is kept, without its body
            self.answer = answer
            giveUp()
            throw error
        }
        guard case (var next, let hop)? = found else { return false }
        exchange.plan?.plan.adaptations.withholdCredentials(from: &next, home: next.url)
        withholdTokens(from: &next)
        await drain(answer.body)
        note(answer.body.timeline)
        next.timeouts.total = try remaining(of: attempt.timeouts.total)
        hops.append(hop)
        exchange.note(
            SentRequest(attempt: number, method: attempt.method, url: hop.from, status: answer.status), hop: hop)
        exchange.sends(next)
        self.attempt = next
        exchange.tell(.requestRedirected) { .redirect(hop, attempt: number) }
        await observer?.heard(.redirect(hop, attempt: number))
        return true
    }

    /// Where the answer leads, by the policy and by what the client's code says; nil for nowhere.
    private func wayOn(
        from answer: AttemptResponse, _ attempt: Attempt, _ number: Int
    ) async throws(HTTPFailure) -> (attempt: Attempt, hop: RedirectHop)? {
        let policy = exchange.plan?.plan.redirect ?? .follow
        let found = try policy.next(after: answer.status, answer.fields, to: attempt, hops: hops.count)
        guard var found, let name = policy.callback, let advisor = exchange.advisor else { return found }
        let moment = ExchangeMoment(
            exchange: exchange, attempt: number, retries: exchange.snapshot.retries, redirects: hops, request: attempt,
            head: ExchangeHead(answer))
        exchange.hold()
        defer { exchange.release() }
        guard let changed = try await advisor.redirect(name, found.hop, next: found.attempt, moment) else { return nil }
        let carried = found.attempt
        found.attempt = changed
        found.hop.to = changed.url.described
        found.hop.dropped += try policy.leaveBehind(of: carried, in: &found.attempt)
        return found
    }

    /// A short body is read, so that its connection can be used again; of a long one, or a slow one, no more is taken.
    func drain(_ body: any AttemptResponseBody) async {
        let most = 16 << 10
        guard (body.expectedBytes ?? 0) <= Int64(most) else { return body.abandon() }
        let patience = exchange.surroundings.executors.later(seconds: 1) { body.abandon() }
        var taken = 0
        do throws(HTTPFailure) {
            while taken <= most, let chunk = try await body.next() { taken &+= chunk.readableBytes }
        } catch {
            // it was worth no more than its connection
        }
        patience.cancel()
        if taken > most { body.abandon() }
    }

    /// Redirects share the time of their attempt.
    func remaining(of total: Double) throws(HTTPFailure) -> Double {
        let left = (exchange.totalTimeout ?? total) - elapsed(inAttempt: true)
        guard left > 0 else {
            throw HTTPFailure(.timedOut, "the redirects took more than the request may", phase: .total, sent: .sent)
        }
        return left
    }

    mutating func judge(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        guard let advisor = exchange.advisor, let attempt else { return machine.judged() }
        do throws(HTTPFailure) {
            exchange.hold()
            defer { exchange.release() }
            try await advisor.judge(moment(attempt, machine))
            return machine.judged()
        } catch {
            if outlet != nil, await keepRefused() { return machine.failed(error) }
            if outlet == nil, let body = answer?.body, body.expectedBytes != nil { await drain(body) }
            giveUp()
            return machine.failed(error)
        }
    }

    /// What a client will not get as a stream it gets with the response: its beginning, if that comes soon. Returns
    /// whether that is all of it.
    mutating func keepRefused() async -> Bool {
        guard let body = answer?.body else { return true }
        sink = Self.sink(for: exchange, .inline)
        let patience = exchange.surroundings.executors.later(seconds: 1) { body.abandon() }
        defer { patience.cancel() }
        do throws(HTTPFailure) {
            while sink.size < 64 << 10 {
                guard let chunk = try await body.next() else {
                    note(body.timeline)
                    return true
                }
                try await sink.take(chunk)
            }
        } catch {
            // what came is there
        }
        return false
    }

    mutating func review(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        guard let advisor = exchange.advisor, let attempt else { return machine.reviewed() }
        do throws(HTTPFailure) {
            exchange.hold()
            defer { exchange.release() }
            try await advisor.review(try await wholeBody(), moment(attempt, machine))
            return machine.reviewed()
        } catch {
            return machine.failed(error)
        }
    }

    // MARK: retries

    mutating func ask(about failure: HTTPFailure?, _ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        var verdict = await verdict(on: failure, machine)
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        if case .retry = verdict { verdict = permitted(verdict, machine) }
        guard case .retry(let seconds) = verdict else { return machine.decided(verdict) }
        return await repeatExchange(after: seconds, failure, &machine)
    }

    /// What is about to go to a client as it comes cannot be taken back: whether the answer is one to be repeated is found
    /// out before. Nil if not; then the body follows.
    mutating func askBeforeBody(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step? {
        guard machine.asksAboutAnswers, let body = answer?.body else { return nil }
        let verdict = await verdict(on: nil, machine)
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        guard case .retry = verdict, case .retry(let seconds) = permitted(verdict, machine) else { return nil }
        await drain(body)
        giveUp()
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        _ = machine.refused()
        return await repeatExchange(after: seconds, nil, &machine)
    }

    private mutating func repeatExchange(
        after seconds: Double, _ failure: HTTPFailure?, _ machine: inout ExchangeMachine
    ) async -> ExchangeMachine.Step {
        let delay = seconds.isFinite ? min(max(seconds, 0), 86400) : 86400
        if let attempt {
            let sent = SentRequest(
                attempt: machine.attempts, method: attempt.method, url: attempt.url.description,
                status: answer?.status)
            if machine.attempts > 0 { exchange.note(sent, hop: nil) }
        }
        forgetAnswer()
        exchange.retries(machine.retries + 1)
        if observer != nil { exchange.watch(nil) }
        let attempts = machine.attempts
        exchange.tell(.requestRetrying) { .retry(delay: delay, failure, attempt: attempts) }
        if exchange.become(.retrying) { await observer?.heard(.state(.retrying, at: .now)) }
        await observer?.heard(.retry(attempt: machine.attempts, delay: delay, failure))
        let step = machine.decided(.retry(after: delay))
        if case .wait = step { return step }
        return await restart(step, &machine)
    }

    /// After the delay.
    mutating func goOn(_ machine: inout ExchangeMachine) async -> ExchangeMachine.Step {
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        return await restart(machine.waited(), &machine)
    }

    /// Each attempt begins with the request as it was asked for.
    private mutating func restart(
        _ step: ExchangeMachine.Step, _ machine: inout ExchangeMachine
    ) async -> ExchangeMachine.Step {
        await exchange.untilResumed()
        if let cancellation = exchange.cancellation { return machine.failed(cancellation) }
        let now = ContinuousClock.now
        attemptBegan = (now, exchange.held(at: now))
        if case .success(let built) = exchange.built {
            attempt = built
            exchange.sends(built)
        }
        return step
    }

    private mutating func verdict(
        on failure: HTTPFailure?, _ machine: borrowing ExchangeMachine
    ) async -> RetryVerdict {
        let question = RetryQuestion(
            method: attempt?.method ?? exchange.method, failure: failure, status: answer?.status,
            fields: answer?.fields ?? [], retries: machine.retries, elapsed: elapsed(inAttempt: false),
            now: Int64(WallTime.now.seconds), chance: Double.random(in: 0...1))
        if failure?.kind.isOffline != true { offlineSince = nil }
        isForToken = false
        for retrier in exchange.plan?.plan.retriers ?? [] {
            let verdict: RetryVerdict
            if case .offline(let wait) = retrier {
                verdict = failure?.kind.isOffline == true ? await untilOnline(wait) : .doNotRetry
            } else if let ruled = retrier.verdict(question) {
                verdict = ruled
            } else if case .callback(let name) = retrier, let failure, let attempt, let advisor = exchange.advisor {
                exchange.hold()
                defer { exchange.release() }
                do throws(HTTPFailure) {
                    verdict = try await advisor.retry(name, failure, moment(attempt, machine))
                } catch {
                    verdict = .fail(error)
                }
            } else if case .oauth(let name) = retrier {
                verdict = await tokenVerdict(name, on: failure)
                if verdict == .retry(after: 0) { isForToken = true }
            } else {
                continue
            }
            switch verdict {
            case .doNotRetry: continue
            case .retry: return verdict
            case .fail(let reason): return .fail(.retryFailed(reason, original: failure))
            }
        }
        return .doNotRetry
    }

    /// Waits for a way to where the request goes. Where the system knows one that leads nowhere, it is tried again and
    /// again.
    private mutating func untilOnline(_ wait: Double) async -> RetryVerdict {
        guard let url = attempt.map({ $0.proxy?.url ?? $0.url }) else { return .doNotRetry }
        if offlineSince == nil { exchange.tell(.requestOffline) { .attempt(exchange.attemptNumber) } }
        let since = offlineSince ?? .now
        offlineSince = since
        let left = wait - (ContinuousClock.now - since).seconds
        guard left > 0 else { return .doNotRetry }
        exchange.watch(nil)
        if NetworkPath.leads(to: url) { return .retry(after: min(Retrier.pause, left)) }
        return await exchange.surroundings.paths.leads(to: url, within: left) ? .retry(after: 0) : .doNotRetry
    }

    /// A body that cannot be sent twice, or an origin that had too many retries, leaves things as they are.
    private func permitted(_ verdict: RetryVerdict, _ machine: borrowing ExchangeMachine) -> RetryVerdict {
        guard let attempt, machine.attempts > 0 else { return verdict }
        // what a client was given cannot be taken back
        if outlet?.hasTaken == true { return .doNotRetry }
        guard attempt.body.isReplayable else {
            return .fail(
                HTTPFailure(.bodyUnreadable, "the request cannot be repeated: its body can be read only once"))
        }
        // that has a policy of its own for servers in trouble
        if isLasting || isForToken { return verdict }
        return exchange.surroundings.budgets.retry(attempt.url.origin) ? verdict : .doNotRetry
    }

    func moment(
        _ attempt: Attempt, _ machine: borrowing ExchangeMachine, isNext: Bool = false
    ) -> ExchangeMoment {
        ExchangeMoment(
            exchange: exchange, attempt: machine.attempts + (isNext ? 1 : 0), retries: machine.retries,
            redirects: hops, request: attempt, head: answer.map(ExchangeHead.init))
    }
}
