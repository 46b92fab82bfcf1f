// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Chooses the credentials of an exchange: its own, those of its session, or those of the client's callback.
final class Authenticator: Sendable {
    /// The name of the client's callback; nil for none.
    let callback: String?
    private let sessionCredentials: SessionCredentials
    private let machine: Mutex<AuthenticationMachine>

    /// - Parameters:
    ///   - sessionCredentials: of the session; nil for credentials that are forgotten with the exchange.
    ///   - source: the origin or a proxy.
    ///   - proxies: of the signed requests.
    ///   - security: of the signed requests, for the places that they connect to.
    init(
        _ own: UserCredential?, callback: String?, _ sessionCredentials: SessionCredentials?,
        source: ChallengeSource = .origin,
        proxies: ProxyRules? = nil, security: SecurityPlan = .standard
    ) {
        self.callback = callback
        self.sessionCredentials = sessionCredentials ?? SessionCredentials()
        machine = Mutex(
            AuthenticationMachine(
                own: own, hasCallback: callback != nil, source: source,
                isConfidential: { $0.isConfidential(through: proxies, security) }
            ))
    }

    /// Nil for a request without credentials, as most are.
    ///
    /// - Parameter attempt: as built from the request; nil if it cannot be built.
    static func make(
        for spec: RequestSpec, _ attempt: @autoclosure () -> Attempt?, _ sessionCredentials: SessionCredentials?
    ) -> Authenticator? {
        var own: UserCredential?
        if case .challenge(let credential)? = spec.authorization { own = credential }
        let callback = spec.shared?.plan.challenge
        guard own != nil || callback != nil || sessionCredentials?.isEmpty == false else { return nil }
        return Authenticator(
            own, callback: callback, sessionCredentials, proxies: spec.proxies,
            security: attempt()?.security ?? spec.security)
    }

    /// The authenticator for the proxies of a request; nil without proxies.
    static func forProxies(of spec: RequestSpec, _ sessionCredentials: SessionCredentials?) -> Authenticator? {
        guard let proxies = spec.proxies, !proxies.isDirect else { return nil }
        return Authenticator(nil, callback: spec.shared?.plan.challenge, sessionCredentials, source: .proxy)
    }

    /// Adds a credential that belongs to the server or proxy at the URL.
    func know(_ credential: UserCredential, at url: HTTPURL) { machine.withLock { $0.know(credential, at: url) } }

    func take(_ credential: UserCredential, isKept: Bool, for url: HTTPURL?) {
        machine.withLock { $0.take(credential, isKept: isKept, for: url) }
    }

    func begin(at url: HTTPURL) { machine.withLock { $0.begin(at: url) } }

    func early(_ url: HTTPURL) -> Signature? {
        both { machine, spaces in machine.early(url, &spaces) }
    }

    /// The next use of the nonce of a signature that was sent; nil if the nonce is gone.
    func again(_ sent: Signature) -> Signature? {
        sessionCredentials.with { spaces in spaces.again(sent) }
    }

    func mayBeChallenged(at url: HTTPURL) -> Bool {
        both { machine, spaces in machine.mayBeChallenged(at: url, spaces) }
    }

    func challenged(
        _ offers: [Challenge], by source: ChallengeSource, at url: HTTPURL, sent: Signature?
    ) -> (AuthenticationMachine.Step, isRefusal: Bool) {
        let nonce = Self.clientNonce()
        return both { machine, spaces in
            let before = machine.failures
            let step = machine.challenged(offers, by: source, at: url, sent: sent, &spaces, clientNonce: nonce)
            return (step, machine.failures > before)
        }
    }

    func replied(_ given: CallbackCredential?) -> AuthenticationMachine.Step {
        let nonce = Self.clientNonce()
        return both { machine, spaces in
            machine.replied(given?.credential, isKept: given?.isKept ?? false, &spaces, clientNonce: nonce)
        }
    }

    func accepted(_ signature: Signature, at url: HTTPURL, _ info: AuthenticationInfo) {
        let nonce = Self.clientNonce()
        both { machine, spaces in
            machine.accepted(signature, at: url, &spaces)
            if let next = info.nextNonce { spaces.renew(signature, nonce: next, clientNonce: nonce) }
        }
    }

    private func both<Value: Sendable>(
        _ work: (inout AuthenticationMachine, inout ProtectionSpaces) -> Value
    ) -> Value {
        machine.withLock { machine in
            sessionCredentials.with { spaces in work(&machine, &spaces) }
        }
    }

    /// 128 random bits.
    private static func clientNonce() -> String {
        var source = SystemRandomNumberGenerator()
        return [source.next(), source.next()].map { (number: UInt64) in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        .joined()
    }
}
