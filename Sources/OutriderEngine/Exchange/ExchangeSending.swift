// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// An attempt, from its request to the head of its response.
extension ExchangeDriver {
    func send() {
        guard var attempt else { return proceed(machine.failed(.unbuilt)) }
        if isCarried, let upgrade = attempt.upgrade {
            upgrade.owner.renew(&attempt.fields)
            self.attempt = attempt
            exchange.sends(attempt)
        }
        if hops.isEmpty, let given = attempt.strictFrom {
            var hop = RedirectHop(status: 307, from: given.described, to: attempt.url.described)
            hop.isStrict = true
            hops = [hop]
            exchange.note(hop)
        }
        if observer != nil { exchange.watch(attempt.timeouts.total) }
        begin(attempt)
    }

    private func begin(_ attempt: Attempt) {
        do throws(HTTPFailure) {
            guard try exchange.begin(attempt: machine.attempts) else {
                return whenResumed { self.begin(attempt) }
            }
        } catch {
            return proceed(failed(error))
        }
        signing.authenticator = exchange.authenticator
        guard download != nil || signing.authenticator != nil || exchange.proxyAuthenticator != nil else {
            return transmit(attempt, of: attempt)
        }
        wait(for: { await Self.result { () throws(HTTPFailure) in try await self.prepared(attempt) } }) { result in
            switch result {
            case .success(let (outgoing, attempt)): self.transmit(outgoing, of: attempt)
            case .failure(let failure): self.proceed(self.failed(failure))
            }
        }
    }

    /// The attempt as sent, and as it was before signing.
    private func prepared(_ given: Attempt) async throws(HTTPFailure) -> (Attempt, Attempt) {
        var attempt = given
        if let download { try await download.prepare(&attempt) }
        var outgoing = attempt
        if let authenticator = signing.authenticator { outgoing = try await signed(attempt, by: authenticator) }
        if exchange.proxyAuthenticator != nil { outgoing = try await signedForProxy(outgoing) }
        return (outgoing, attempt)
    }

    private func transmit(_ outgoing: Attempt, of attempt: Attempt) {
        if let cancellation { return proceed(failed(cancellation)) }
        cookies = exchange.cookies
        guard let cookies else { return dispatch(outgoing, of: attempt) }
        addCookies(of: cookies, to: outgoing) { self.dispatch($0.attempt, of: attempt, jar: $0.principal) }
    }

    private func dispatch(_ outgoing: Attempt, of attempt: Attempt, jar: String? = nil) {
        if let cancellation { return proceed(failed(cancellation)) }
        guard exchange.cache != nil, let file = CertificateStamp.file(of: outgoing) else {
            return carry(outgoing, of: attempt, Facts(jar: jar))
        }
        let client = exchange.quota.client
        let stamp = { @Sendable () async throws(HTTPFailure) in try await CertificateStamp.text(of: file, for: client) }
        wait(for: { await Self.result(stamp) }) { result in
            switch result {
            case .success(let stamp): self.carry(outgoing, of: attempt, Facts(jar: jar, certificate: stamp))
            case .failure(let failure): self.proceed(self.failed(failure))
            }
        }
    }

    /// What a cache has to know of an attempt beside its request.
    private struct Facts {
        /// The principal of the jar whose cookies are sent; nil without such cookies.
        var jar: String?
        /// The state of the client certificate's file; nil without a client certificate.
        var certificate: String?
    }

    private func carry(_ outgoing: Attempt, of attempt: Attempt, _ facts: Facts) {
        if let cancellation { return proceed(failed(cancellation)) }
        tellSending(outgoing)
        let cache = cache(for: outgoing)
        let sending = ready(outgoing, cache, facts) ?? cache.map { cached(outgoing, $0, facts) } ?? plain(outgoing)
        self.sending = sending
        sending.start { self.responded($0, to: attempt) }
    }

    /// The cache of the attempt: a retry does not take the response that it follows from there.
    private func cache(for outgoing: Attempt) -> CacheBinding? {
        guard let cache = exchange.cache, let refused,
            refused.url == CacheKey.text(outgoing.url, ignoring: cache.spec.ignoredQuery)
        else { return exchange.cache }
        return cache.retrying(after: refused.moment)
    }

    /// The attempt whose response is at hand; nil if there is none.
    private func ready(_ outgoing: Attempt, _ cache: CacheBinding?, _ facts: Facts) -> (any LoopAttempt)? {
        switch (cache, exchange.stage) {
        case (nil, nil): return nil
        case (let cache?, nil):
            defer { ready = nil }
            if let ready { return ready }
            return cache.ready(for: outgoing, stable(outgoing, facts)).map { ReadyAttempt(from: .cache($0), on: loop) }
        case (nil, let stage?): return stage.ready(for: outgoing, observer: exchange, on: loop)
        // the stage is the network of the cache
        case (_?, _?): return nil
        }
    }

    private func plain(_ outgoing: Attempt) -> any LoopAttempt {
        exchange.transport.make(outgoing, observer: exchange)
    }

    private func cached(_ outgoing: Attempt, _ cache: CacheBinding, _ facts: Facts) -> any LoopAttempt {
        // a connection that changes its protocol brings no response to store
        if outgoing.upgrade != nil, !exchange.isOffline { return plain(outgoing) }
        let attempt = CachedAttempt(
            outgoing, cache, stable(outgoing, facts),
            exchange.transport, observer: exchange)
        if outgoing.upgrade != nil { attempt.refuse("a connection that changes its protocol is never stored") }
        return attempt
    }

    /// Identifiers of credentials whose fields change though the user does not.
    private func stable(_ outgoing: Attempt, _ facts: Facts) -> CachePrincipal.Stable {
        let token = given.first { $0.value.principal != nil && $0.value.credential.isIn(outgoing) }
        return CachePrincipal.Stable(
            login: token?.value.principal ?? digest(of: outgoing), credential: token?.key, jar: facts.jar,
            certificate: facts.certificate)
    }

    private func digest(of outgoing: Attempt) -> String? {
        // a Digest proof differs for each request
        let isDigest = outgoing.login?.scheme == .digest && signing.sent != nil
        let login = isDigest ? outgoing.login?.credential : nil
        return login.map { "digest \($0.username) \($0.password)" }
    }

    private func responded(_ result: Result<AttemptResponse, HTTPFailure>, to attempt: Attempt) {
        switch result {
        case .failure(let failure):
            guard failure.kind == .proxyAuthenticationRequired else { return proceed(failed(failure)) }
            wait(for: { await self.refusedByProxy(failure, attempt) }, then: { self.proceed($0) })
        case .success(let response):
            tellResponse(response)
            learnStrictTransport(response, attempt)
            exchange.invalidate(by: response, to: attempt)
            if let report = response.cache { exchange.tell(report) }
            guard cookies != nil, response.cache?.isFromStoreAlone != true else {
                return consider(response, to: attempt)
            }
            takeCookies(of: response, to: attempt) { self.consider(response, to: attempt) }
        }
    }

    /// Only the first of several fields counts, and only if the certificates were verified, and not by a callback (RFC
    /// 6797 section 8.1).
    private func learnStrictTransport(_ response: AttemptResponse, _ attempt: Attempt) {
        // a stored field says nothing of the server of today
        guard let memory = exchange.plan?.plan.strictTransport, response.cache?.isFromStore != true,
            let field = response.fields.first("Strict-Transport-Security"),
            let facts = response.body.timeline.tlsFacts, facts.verified != .none,
            facts.verified != .callback
        else { return }
        memory.learn(field, from: attempt.url)
    }

    private func consider(_ response: AttemptResponse, to attempt: Attempt) {
        let isWatched = download != nil || signing.authenticator != nil || exchange.proxyAuthenticator != nil
        guard isWatched || RedirectPolicy.redirects(response.status) else { return accept(response) }
        wait(for: { await self.detour(after: response, to: attempt) }) { step in
            if let step { self.proceed(step) } else { self.accept(response) }
        }
    }

    /// The steps before the response is accepted: a credential for the proxy or the server, a redirect, or another
    /// request for the same download. Nil if the response is accepted.
    private func detour(after response: AttemptResponse, to attempt: Attempt) async -> ExchangeMachine.Step? {
        do throws(HTTPFailure) {
            if exchange.proxyAuthenticator != nil, try await isChallengedByProxy(response, attempt) {
                return machine.challenged()
            }
            if let authenticator = signing.authenticator,
                try await isChallenged(response, attempt, by: authenticator)
            {
                return machine.challenged()
            }
            if RedirectPolicy.redirects(response.status), try await follow(response, attempt) {
                return machine.redirected()
            }
            guard let download else { return nil }
            self.response = response
            do throws(HTTPFailure) {
                if try await download.accept(response, attempt) { return nil }
            } catch {
                guard response.status >= 400 else { throw error }
                giveUp(isWhole: await download.keepPage(response.body, most: attempt.maximumBodyBytes))
                return machine.failed(error)
            }
            await drain(response.body)
            note(response.body.timeline)
            self.response = nil
            return machine.unfinished()
        } catch {
            return failed(error)
        }
    }

    /// Accepts the response as final.
    private func accept(_ response: AttemptResponse) {
        self.response = response
        if let cancellation { return proceed(failed(cancellation)) }
        let (head, body) = (ExchangeHead(response), response.body)
        let expected = download.map(\.total) ?? body.expectedBytes
        guard exchange.responded(head, expecting: expected, onWire: body.wireBytes?.of) else {
            return whenResumed { self.accept(response) }
        }
        if response.status == 101 { exchange.watch(nil) }
        guard observer != nil else { return proceed(machine.responded()) }
        tell(.state(.responded, at: .now)) {
            self.tell(.response(head, url: self.url, attempt: self.machine.attempts)) {
                self.proceed(self.machine.responded())
            }
        }
    }

    private func tellResponse(_ response: AttemptResponse) {
        exchange.tell(.attemptAnswered) {
            .head(status: response.status, version: response.version, response.fields, attempt: exchange.attemptNumber)
        }
        if let source = ChallengeSource(status: response.status) { tellChallenge(response.fields, by: source) }
    }

    /// The URL of the present request: the caller's, unless a redirect or an adapter changed the URL.
    var url: String {
        guard let attempt, exchange.plan != nil || !hops.isEmpty else { return exchange.url }
        return attempt.url.described
    }

    // MARK: times

    /// Seconds since the start of the exchange or its attempt, without the time held.
    func elapsed(inAttempt: Bool) -> Double {
        let start = inAttempt ? attemptBegan ?? (began, heldBefore) : (began, heldBefore)
        let now = ContinuousClock.now
        return (now - start.0 - (exchange.held(at: now) - start.1)).seconds
    }

    /// Notes the timeline of a response that is not the last.
    func note(_ timeline: Timeline) {
        add(timeline)
        exchange.note(timelines)
    }

    func add(_ timeline: Timeline) {
        timelines.append(timeline)
        exchange.tell(.attemptMeasured) {
            .timeline(timeline, version: response?.version, attempt: exchange.attemptNumber)
        }
    }
}

extension ExchangeHead {
    init(_ response: AttemptResponse) {
        self.init(
            status: response.status, version: response.version, fields: response.fields, cache: response.cache,
            reason: response.reason)
    }
}

extension Exchange {
    /// The transport of its attempts: the network, or the replay stage before it.
    var transport: any Transport {
        stage.map { StagedTransport(stage: $0, inner: environment.transport) } ?? environment.transport
    }
}
