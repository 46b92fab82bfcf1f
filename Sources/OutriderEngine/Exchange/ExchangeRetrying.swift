// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Retriers, and the next attempt.
///
/// `consult` performs the step of the same name: the retriers of the request give a verdict in order, the body and the
/// retry budget may refuse a retry, and the machine decides. A policy gives its verdict at once; a callback, a
/// credential, or a network that is gone makes the exchange wait.
extension ExchangeDriver {
    /// Consults the retriers about a failure, or with nil about a response that no validator rejects.
    func consult(about failure: HTTPFailure?) {
        verdict(on: failure) { given in
            if let cancellation = self.cancellation { return self.proceed(self.machine.failed(cancellation)) }
            var verdict = given
            if case .retry = verdict { verdict = self.permitted(verdict, after: failure) }
            guard case .retry(let seconds) = verdict else { return self.proceed(self.machine.decided(verdict)) }
            self.repeatExchange(after: seconds, failure)
        }
    }

    /// Notes the attempt that is over, tells monitors and the observer, and then lets the machine begin the delay.
    func repeatExchange(after seconds: Double, _ failure: HTTPFailure?) {
        let delay = seconds.isFinite ? min(max(seconds, 0), 86400) : 86400
        let number = machine.attempts
        if let attempt, number > 0 {
            let sent = SentRequest(
                attempt: number, method: attempt.method, url: attempt.url.description, status: response?.status)
            exchange.note(sent, hop: nil)
        }
        if response != nil, let attempt, let cache = exchange.cache {
            refused = (CacheKey.text(attempt.url, ignoring: cache.spec.ignoredQuery), CacheClock.now)
        }
        forgetResponse()
        exchange.retries(machine.retries + 1, after: failure)
        if observer != nil { exchange.watch(nil) }
        exchange.tell(.requestRetrying) { .retry(delay: delay, failure, attempt: number) }
        let told = { @Sendable in
            self.tell(.retry(attempt: number, delay: delay, failure)) { self.decided(delay) }
        }
        if exchange.become(.retrying) { tell(.state(.retrying, at: .now), then: told) } else { told() }
    }

    /// Without a delay the next attempt begins in the same turn of the loop.
    private func decided(_ delay: Double) {
        let step = machine.decided(.retry(after: delay))
        if case .wait = step { proceed(step) } else { restart(step) }
    }

    /// Starts each attempt from the client's original request.
    func restart(_ step: ExchangeMachine.Step) {
        whenResumed {
            if let cancellation = self.cancellation { return self.proceed(self.machine.failed(cancellation)) }
            let now = ContinuousClock.now
            self.attemptBegan = (now, self.exchange.held(at: now))
            if case .success(let built) = self.exchange.built {
                self.attempt = built
                self.exchange.sends(built)
            }
            self.proceed(step)
        }
    }

    // MARK: verdicts

    /// Queries the retriers in order, until a verdict is final.
    func verdict(on failure: HTTPFailure?, then completion: @escaping @Sendable (RetryVerdict) -> Void) {
        var context = RetryContext(
            method: attempt?.method ?? exchange.method, failure: failure, status: response?.status,
            fields: response?.fields ?? [], retries: machine.retries, elapsed: elapsed(inAttempt: false),
            now: Int64(WallTime.now.seconds), chance: Double.random(in: 0...1))
        if let report = response?.cache, report.isFromStore { context.age = report.age ?? 0 }
        if failure?.kind.isOffline != true { offlineSince = nil }
        isForToken = false
        verdict(on: context, from: 0, then: completion)
    }

    /// The same, from the retrier of that index on.
    ///
    /// - Parameter fault: why the reply of an earlier retrier cannot be used; nil if none had a fault.
    private func verdict(
        on context: RetryContext, from start: Int, fault: String? = nil,
        then completion: @escaping @Sendable (RetryVerdict) -> Void
    ) {
        let retriers = exchange.plan?.plan.retriers ?? []
        let failure = context.failure
        for index in retriers.indices.dropFirst(start) {
            if let work = awaitedVerdict(of: retriers[index], about: failure) {
                return wait(for: work) { verdict in
                    if let last = verdict.conclusion(about: failure) { return completion(last) }
                    var fault = fault
                    if case .unusable(let reason) = verdict { fault = fault ?? reason }
                    self.verdict(on: context, from: index + 1, fault: fault, then: completion)
                }
            }
            if case .offline = retriers[index] { continue }
            if let last = retriers[index].verdict(context)?.conclusion(about: failure) { return completion(last) }
        }
        // a handler's failure is that handler's alone
        guard let fault, var told = failure, !machine.succeedsUnlessRetried else { return completion(.doNotRetry) }
        told.message += " (no retry: \(fault))"
        completion(.fail(told))
    }

    /// The verdict of a retrier that makes the exchange wait; nil if the retrier decides at once, or does not apply.
    private func awaitedVerdict(
        of retrier: Retrier, about failure: HTTPFailure?
    ) -> (@Sendable () async -> RetryVerdict)? {
        switch retrier {
        case .policy: return nil
        case .offline(let seconds, let rule):
            guard failure?.kind.isOffline == true else { return nil }
            return { await self.untilOnline(seconds, rule) }
        case .callback(let name):
            guard let failure, let attempt, let delegate = exchange.delegate else { return nil }
            let moment = moment(attempt)
            return {
                self.exchange.hold()
                defer { self.exchange.release() }
                do throws(HTTPFailure) {
                    return try await delegate.retry(name, failure, moment)
                } catch {
                    return .fail(error)
                }
            }
        case .oauth(let name):
            guard concernsToken(name, failure) else { return nil }
            return {
                let verdict = await self.tokenVerdict(name)
                if verdict == .retry(after: 0) { self.isForToken = true }
                return verdict
            }
        }
    }

    /// Waits for a route to the host, or to the proxy or `connectTo` in its place. If a route exists but fails, the
    /// request is retried after a pause.
    private func untilOnline(_ wait: Double, _ rule: InterfaceRule) async -> RetryVerdict {
        guard let attempt else { return .doNotRetry }
        let target = attempt.security.target(for: attempt.url)
        let place = attempt.proxy?.url ?? target?.applied(to: attempt.url) ?? attempt.url
        if offlineSince == nil { exchange.tell(.requestOffline) { .attempt(exchange.attemptNumber) } }
        let since = offlineSince ?? .now
        offlineSince = since
        let left = wait - (ContinuousClock.now - since).seconds
        guard left > 0 else { return .doNotRetry }
        let pause = min(Retrier.pause, left)
        // a cassette needs no route
        if exchange.stage?.playsOnly(attempt.url.description) == true { return .retry(after: pause) }
        exchange.watch(nil)
        if NetworkPath.leads(to: place, over: rule) { return .retry(after: pause) }
        let leads = await exchange.environment.paths.leads(to: place, over: rule, within: left)
        return leads ? .retry(after: 0) : .doNotRetry
    }

    /// Refuses a retry if the body cannot be sent twice, or the origin had too many retries.
    ///
    /// - Parameter failure: nil for a response that no validator rejects.
    func permitted(_ verdict: RetryVerdict, after failure: HTTPFailure?) -> RetryVerdict {
        guard let attempt, machine.attempts > 0 else { return verdict }
        // bytes given to a client cannot be recalled
        if outlet?.hasTaken == true { return .doNotRetry }
        guard attempt.body.isReplayable else {
            // without a response, the failure at hand says more
            guard let response else { return .doNotRetry }
            // a handler's failure is that handler's alone
            if failure != nil, machine.succeedsUnlessRetried { return .doNotRetry }
            return .fail(Self.spent(after: response.status, failure))
        }
        // lasting exchanges have a policy of their own for servers in trouble
        if isLasting || isForToken { return verdict }
        return exchange.environment.budgets.retry(attempt.url.origin) ? verdict : .doNotRetry
    }

    /// The failure of a retry for which a stream of the client would have to be read again.
    private static func spent(after status: Int, _ failure: HTTPFailure?) -> HTTPFailure {
        var cause = "status \(status)"
        if let failure, failure.kind != .unacceptableStatusCode { cause += " (\(failure.message))" }
        return HTTPFailure(
            .bodyUnreadable,
            "the request cannot be repeated after \(cause): a stream in its body can be read only once (send a new"
                + " request with a new stream, or give the body as text, base64 or file)", sent: .sent)
    }

    /// The state of the exchange, for a callback.
    ///
    /// - Parameters:
    ///   - isNext: whether the callback concerns the next attempt.
    ///   - showsHead: false if the head says nothing about the body, such as that of a 416 for a complete file.
    func moment(_ attempt: Attempt, isNext: Bool = false, showsHead: Bool = true) -> ExchangeMoment {
        ExchangeMoment(
            exchange: exchange, attempt: machine.attempts + (isNext ? 1 : 0), retries: machine.retries,
            redirects: hops, request: attempt, head: showsHead ? response.map { ExchangeHead($0) } : nil)
    }
}

extension RetryVerdict {
    /// The verdict, if no later retrier is consulted; nil if the next retrier decides.
    fileprivate func conclusion(about failure: HTTPFailure?) -> RetryVerdict? {
        switch self {
        case .doNotRetry, .unusable: nil
        case .retry: self
        case .fail(let reason): .fail(.retryFailed(reason, original: failure))
        }
    }
}
