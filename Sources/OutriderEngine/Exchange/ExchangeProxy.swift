// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

extension Exchange {
    /// The early signature for a proxy that is known to require authentication; nil for none.
    func proxySignature(for attempt: Attempt) -> Signature? {
        guard let proxy = attempt.proxy, proxy.speaksHTTP, let authenticator = proxyAuthenticator else { return nil }
        if let credential = proxy.credential { authenticator.know(credential, at: proxy.url) }
        return authenticator.early(proxy.url)
    }
}

extension Attempt {
    /// Adds the proxy's authorization.
    mutating func sign(
        forProxy signature: Signature, bodyHash: String = "", isRepetition: Bool = false
    ) -> SentSignature {
        // the request line has the whole URL if the proxy forwards the request (RFC 9112 section 3.2.2)
        let digest =
            isTunneled
            ? signature.digest(
                method: "CONNECT", uri: destination.authorityWithPort, bodyHash: signature.bodyHash?.hash("") ?? "")
            : signature.digest(method: method, uri: url.description, bodyHash: bodyHash)
        proxyAuthorization = ProxyAuthorization(
            digest?.field ?? FieldText(signature.basicValue), signature.credential, isRepetition: isRepetition)
        return SentSignature(signature: signature, digest: digest)
    }
}

/// Authentication to proxies.
extension ExchangeDriver {
    /// The attempt with its proxy authorization.
    func signedForProxy(_ attempt: Attempt) async throws(HTTPFailure) -> Attempt {
        let number = machine.attempts
        signing.proxy.sent = nil
        signing.sentAt = .now
        guard let proxy = attempt.proxy, let authenticator = exchange.proxyAuthenticator else { return attempt }
        if number != signing.proxy.attempt {
            signing.proxy.attempt = number
            signing.proxy.next = nil
            authenticator.begin(at: proxy.url)
        }
        let next = signing.proxy.next
        let chosen = next ?? exchange.proxySignature(for: attempt)
        signing.proxy.next = nil
        var outgoing = attempt
        if let chosen {
            let hash = attempt.isTunneled ? "" : try await bodyHash(of: attempt.body, chosen)
            signing.proxy.sent = outgoing.sign(forProxy: chosen, bodyHash: hash, isRepetition: next != nil)
            exchange.tell(.credentialUsed) { .credential(chosen, attempt: number) }
        } else if !attempt.isTunneled, attempt.body.isDear, authenticator.mayBeChallenged(at: proxy.url) {
            // a long or single-use body is not sent before the proxy accepts; a tunnel is opened before any byte of a
            // body
            outgoing.expectsContinue = true
        }
        return outgoing
    }

    /// The same request with another proof for its proxy, if the proof that was sent is Digest: part of `signedAgain`.
    func signedAgainForProxy(_ sent: Attempt, after fields: HTTPFields) -> Attempt {
        guard let last = signing.proxy.sent, last.digest != nil, let proxy = sent.proxy,
            let authenticator = exchange.proxyAuthenticator
        else { return sent }
        let info = AuthenticationInfo(sent.isTunneled ? [] : fields.texts(ChallengeSource.proxy.infoField))
        authenticator.accepted(last.signature, at: proxy.url, info)
        var again = sent
        (again.proxyAuthorization, signing.proxy.sent) = (nil, nil)
        // without a signature the proxy sends a challenge, and the exchange signs then
        if let next = exchange.proxySignature(for: again) {
            signing.proxy.sent = again.sign(forProxy: next, bodyHash: next.bodyHash?.hash("") ?? "")
        }
        return again
    }

    /// Whether a forwarding proxy sent a challenge, and the request is to be sent again with a signature.
    func isChallengedByProxy(
        _ response: AttemptResponse, _ attempt: Attempt
    ) async throws(HTTPFailure) -> Bool {
        guard let proxy = attempt.proxy, proxy.speaksHTTP, let authenticator = exchange.proxyAuthenticator else {
            return false
        }
        // a response through a tunnel comes from the origin
        guard response.status == 407, !attempt.isTunneled else {
            try acceptedByProxy(response, proxy, authenticator, isTunnel: attempt.isTunneled)
            if let sent = signing.proxy.sent?.signature {
                let number = machine.attempts
                exchange.tell(.credentialAccepted) { .credential(sent, attempt: number) }
            }
            return false
        }
        guard
            let signature = await signature(
                for: ExchangeHead(response), by: .proxy, at: proxy.url, signing.proxy.sent, attempt, authenticator)
        else { return false }
        try await goOn(behind: response, attempt, signature, of: "proxy")
        signing.proxy.next = signature
        return true
    }

    /// The same for a proxy that refused a tunnel with a challenge. No byte of the request was sent.
    func refusedByProxy(_ failure: HTTPFailure, _ attempt: Attempt) async -> ExchangeMachine.Step {
        guard let proxy = attempt.proxy, proxy.speaksHTTP, let authenticator = exchange.proxyAuthenticator else {
            return failed(failure)
        }
        if let lost = exchange.takeLost() { note(lost) }
        var fields: HTTPFields = []
        for case .headers(let said) in failure.details { fields = said }
        let head = ExchangeHead(status: 407, version: "1.1", fields: fields)
        tellChallenge(fields, by: .proxy)
        do throws(HTTPFailure) {
            guard
                let signature = await signature(
                    for: head, by: .proxy, at: proxy.url, signing.proxy.sent, attempt, authenticator)
            else { throw failure }
            try goOn(from: attempt)
            signing.proxy.next = signature
            return machine.challenged()
        } catch {
            return failed(error)
        }
    }

    /// Throws `serverAuthenticationFailed` if a forwarding proxy claims to know the password, and its proof is wrong.
    private func acceptedByProxy(
        _ response: AttemptResponse, _ proxy: ProxyServer, _ authenticator: Authenticator, isTunnel: Bool
    ) throws(HTTPFailure) {
        guard let sent = signing.proxy.sent else { return }
        // fields that an origin sends through a tunnel do not concern our proxy
        let info = AuthenticationInfo(isTunnel ? [] : response.fields.texts(ChallengeSource.proxy.infoField))
        if let said = sent.digest, let fault = info.fault(of: said, bodyHash: nil) {
            self.response = response
            giveUp()
            throw fault
        }
        authenticator.accepted(sent.signature, at: proxy.url, info)
    }
}
