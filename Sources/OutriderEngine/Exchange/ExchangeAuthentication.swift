// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Authentication to servers: early where a challenge is expected, and after a challenge.
extension ExchangeDriver {
    /// The attempt with its Authorization. A field set by the caller is left alone.
    func signed(_ attempt: Attempt, by authenticator: Authenticator) async throws(HTTPFailure) -> Attempt {
        let number = machine.attempts
        signing.sent = nil
        signing.sentAt = .now
        signing.bodyProof = nil
        guard !attempt.fields.contains("Authorization") else { return attempt }
        if number != signing.attempt {
            signing.attempt = number
            signing.next = nil
            authenticator.begin(at: exchange.download?.home(apart: attempt.url) ?? attempt.url)
        }
        let chosen = signing.next ?? authenticator.early(attempt.url)
        signing.next = nil
        var outgoing = attempt
        guard let chosen else {
            // a long or single-use body is not sent before the server accepts the request
            if attempt.body.isDear, authenticator.mayBeChallenged(at: attempt.url) { outgoing.expectsContinue = true }
            return outgoing
        }
        let hash = try await bodyHash(of: attempt.body, chosen)
        let digest = chosen.digest(method: attempt.method, uri: attempt.url.target, bodyHash: hash)
        outgoing.fields.list.append(.init("Authorization", digest?.field ?? FieldText(chosen.basicValue)))
        outgoing.login = AppliedCredential(chosen.credential, chosen.scheme)
        signing.sent = SentSignature(signature: chosen, digest: digest)
        exchange.sends(outgoing)
        exchange.tell(.credentialUsed) { .credential(chosen, attempt: number) }
        return outgoing
    }

    /// A request without a body that is sent once more, since a cache has no use for the response: a Digest proof is for
    /// one sending alone (RFC 7616 section 3.4).
    ///
    /// - Parameter fields: of the response to the proof that was sent.
    func signedAgain(_ sent: Attempt, after fields: HTTPFields) -> Attempt {
        let sent = signedAgainForProxy(sent, after: fields)
        guard sent.login?.scheme == .digest, let authenticator = signing.authenticator, let last = signing.sent else {
            return sent
        }
        let info = AuthenticationInfo(fields.texts(ChallengeSource.origin.infoField))
        authenticator.accepted(last.signature, at: sent.url, info)
        var again = sent
        again.fields.remove("Authorization")
        guard let next = authenticator.early(sent.url), next.bodyHash == nil,
            let digest = next.digest(method: sent.method, uri: sent.url.target)
        else {
            // the server sends a challenge, and the exchange signs then
            (again.login, signing.sent) = (nil, nil)
            return again
        }
        again.fields.list.append(.init("Authorization", digest.field))
        signing.sent = SentSignature(signature: next, digest: digest)
        exchange.sends(again)
        return again
    }

    /// A request that the transport sends once more: with the next use of the nonce, or without a proof if the nonce is
    /// gone.
    func signedOnceMore(_ sent: Attempt) -> Attempt {
        var again = sent.unproved
        // not the proof of a request that follows already
        if sent.login?.scheme == .digest, let last = signing.sent, let said = last.digest,
            sent.fields.texts("Authorization") == [said.field]
        {
            signing.sent = nil
            if let next = signing.authenticator?.again(last.signature),
                let digest = next.digest(method: sent.method, uri: sent.url.target, bodyHash: said.bodyHash)
            {
                again.login = sent.login
                again.fields.list.append(.init("Authorization", digest.field))
                signing.sent = SentSignature(signature: next, digest: digest)
            }
        }
        if let last = signing.proxy.sent, let said = last.digest, sent.proxy != nil {
            signing.proxy.sent = nil
            if let next = exchange.proxyAuthenticator?.again(last.signature) {
                signing.proxy.sent = again.sign(forProxy: next, bodyHash: said.bodyHash)
            }
        }
        exchange.sends(again)
        return again
    }

    func bodyHash(of body: AttemptBody, _ signature: Signature) async throws(HTTPFailure) -> String {
        guard let algorithm = signature.bodyHash else { return "" }
        guard let hash = try await BodyHash.of(body, algorithm, for: exchange.quota.client) else {
            throw Self.unhashable
        }
        return hash
    }

    /// Reports a challenge, whether or not a credential is available.
    func tellChallenge(_ fields: HTTPFields, by source: ChallengeSource) {
        guard let url = attempt?.url else { return }
        exchange.tell(.challengeReceived) {
            let challenges = ChallengeScanner.challenges(in: fields.texts(source.challengeField))
            let offers = AuthenticationOffer.ranked(challenges, from: url)
            return .challenge(offers, url: url.description, attempt: exchange.attemptNumber)
        }
    }

    /// Whether the response is a challenge, and the request is to be sent again with a signature.
    func isChallenged(
        _ response: AttemptResponse, _ attempt: Attempt, by authenticator: Authenticator
    ) async throws(HTTPFailure) -> Bool {
        guard !attempt.fields.contains("Authorization") else { return false }
        guard response.status == 401 else {
            try accepted(response, attempt, authenticator)
            return false
        }
        guard
            let signature = await signature(
                for: ExchangeHead(response), by: .origin, at: attempt.url, signing.sent, attempt, authenticator)
        else { return false }
        try await goOn(behind: response, attempt, signature, of: "server")
        signing.next = signature
        return true
    }

    /// The signature for a challenge; nil if no credential is available.
    func signature(
        for head: ExchangeHead, by source: ChallengeSource, at url: HTTPURL, _ sent: SentSignature?,
        _ attempt: Attempt, _ authenticator: Authenticator
    ) async -> Signature? {
        let number = machine.attempts
        let offers = ChallengeScanner.challenges(in: head.fields.texts(source.challengeField))
        var (step, isRefusal) = authenticator.challenged(offers, by: source, at: url, sent: sent?.signature)
        if isRefusal, let sent { exchange.tell(.credentialRefused) { .credential(sent.signature, attempt: number) } }
        if case .callback(let callback) = step {
            exchange.tell(.challengeAsked) {
                .challenge(callback.offers, url: callback.url.description, attempt: number)
            }
            step = authenticator.replied(await credential(for: callback, head, attempt, authenticator))
        }
        guard case .sign(let signature) = step else { return nil }
        return signature
    }

    /// The response was a challenge, and the request is sent again.
    func goOn(
        behind response: AttemptResponse, _ attempt: Attempt, _ signature: Signature, of source: String
    ) async throws(HTTPFailure) {
        if let failure = obstacle(to: attempt.body, signature, of: source) {
            await keepPage(of: response, attempt)
            throw failure
        }
        await drain(response.body)
        note(response.body.timeline)
        try goOn(from: attempt)
        exchange.note(
            SentRequest(
                attempt: machine.attempts, method: attempt.method, url: attempt.url.description,
                status: response.status),
            hop: nil)
    }

    /// The next request starts without the fields added for this one.
    func goOn(from attempt: Attempt) throws(HTTPFailure) {
        var next = self.attempt ?? attempt
        next.timeouts.total = try remaining(of: attempt.timeouts.total)
        next.timeouts.whole = exchange.totalTimeout
        self.attempt = next
    }

    /// The credential from the client's callback; nil for none. Timeouts pause meanwhile.
    private func credential(
        for callback: AuthenticationCallback, _ head: ExchangeHead, _ attempt: Attempt,
        _ authenticator: Authenticator
    ) async -> CallbackCredential? {
        guard let name = authenticator.callback, let delegate = exchange.delegate else { return nil }
        let moment = ExchangeMoment(
            exchange: exchange, attempt: machine.attempts, retries: machine.retries, redirects: hops, request: attempt,
            head: head, sent: signing.sentAt)
        exchange.hold()
        defer { exchange.release() }
        return await delegate.challenge(name, callback, moment)
    }

    /// The failure if the body cannot be sent again; nil if it can.
    ///
    /// - Parameter source: the source of the challenge: "server" or "proxy".
    private func obstacle(to body: AttemptBody, _ signature: Signature, of source: String) -> HTTPFailure? {
        guard body.isReplayable else {
            // the body waited for 100 Continue, or a second: an expectation would not help
            let isBasic = source == "server" && signature.scheme == .basic
            let atOnce = isBasic ? ", or send the credentials at once (auth.basic)" : ""
            return HTTPFailure(
                .bodyUnreadable,
                "the \(source) wants credentials, but has taken the body already, which cannot be sent twice: give the"
                    + " body as text, base64 or file\(atOnce)", sent: .sent)
        }
        if signature.bodyHash != nil, case .composed(let composed) = body,
            composed.coding != nil || !composed.feeds.isEmpty
        {
            return Self.unhashable
        }
        return nil
    }

    private static var unhashable: HTTPFailure {
        HTTPFailure(
            .bodyUnreadable,
            "the server wants a proof of the body (auth-int), which is not known before it is sent: give it as bytes or as a"
                + " file, uncompressed", sent: .sent)
    }

    /// Throws `serverAuthenticationFailed`; the response is kept, without its body.
    private func accepted(
        _ response: AttemptResponse, _ attempt: Attempt, _ authenticator: Authenticator
    ) throws(HTTPFailure) {
        guard let sentAs = signing.sent else { return }
        let number = machine.attempts
        let info = AuthenticationInfo(response.fields.texts(ChallengeSource.origin.infoField))
        if let said = sentAs.digest {
            if let fault = info.fault(of: said, bodyHash: nil) {
                self.response = response
                giveUp()
                throw fault
            }
            // a stored body is not the one of the proof
            if info.provesBody(of: said), !response.fields.contains("Content-Encoding"),
                response.cache?.isFromStore != true
            {
                signing.bodyProof = BodyProof(info: info, digest: said, hash: DigestHash(said.challenge.algorithm))
            }
        }
        authenticator.accepted(sentAs.signature, at: attempt.url, info)
        exchange.tell(.credentialAccepted) { .credential(sentAs.signature, attempt: number) }
    }
}

extension AttemptBody {
    /// Whether the body is longer than 1 MiB, of unknown length, or readable only once.
    var isDear: Bool {
        if case .composed(let body) = self, !body.feeds.isEmpty { return true }
        return size.map { $0 > 1 << 20 } ?? true
    }
}
