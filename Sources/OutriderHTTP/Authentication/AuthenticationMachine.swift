// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides how an exchange authenticates: before the first attempt, and after each challenge (401 or 407).
///
///     early? ─▶ (sent) ─▶ accepted
///        ▲         │
///        │         └──▶ challenged ─▶ sign: sent once more ─┐
///        │                 ▲   │ callback ─▶ replied ─▶ sign    │
///        │                 └───│─────────────────────────────┘
///        │                     └──▶ leave: the refusal is the response
///
/// Credentials are tried in this order: the request's own, for its own origin only; those of its session; the
/// credential that the client's callback supplies. Of the offered schemes, the strongest that the credential permits is
/// used. A refused credential is not tried again: a wrong password ends with the refusal, after a single try. Only what the
/// server accepted before is tried up to three times, since the nonce may be the reason.
///
/// Responsible for: at most `mostSignatures` signatures between calls of `begin`; credentials only for their own origin.
/// Not responsible for: whether the body can be sent again; sharing between requests (ProtectionSpaces).
package struct AuthenticationMachine: Sendable {
    package enum Step: Sendable {
        /// Send the request again with this signature.
        case sign(Signature)
        /// Make the client's callback, then call `replied`.
        case callback(AuthenticationCallback)
        /// The refusal is the response.
        case leave
    }

    package static let mostSignatures = 8
    package static let mostStale = 4
    package static let mostCallbacks = 3

    /// A credential of the request itself.
    private struct Own: Sendable {
        var credential: UserCredential
        /// Nil until the first attempt fixes the origin.
        var origin: String?
        var isKept: Bool
        /// Sends Basic before any challenge.
        var isEarly = false
    }

    private struct Refusal: Sendable, Equatable {
        var origin: String
        /// Nil for all.
        var realm: String?
        var credential: UserCredential
    }

    private struct Pending: Sendable {
        var offers: [Challenge]
        var url: HTTPURL
        var source: ChallengeSource
        var sent: Signature?
    }

    private var own: [Own] = []
    /// The origin of the first attempt.
    private var home: String?
    /// Whether the request has an authentication callback.
    private let hasCallback: Bool
    private let source: ChallengeSource
    /// Whether the route to a URL hides the request.
    private let isConfidential: @Sendable (HTTPURL) -> Bool
    private var refusals: [Refusal] = []
    private var pending: Pending?
    private var signatures = 0
    private var stales = 0
    private var callbacks = 0

    /// - Parameters:
    ///   - source: origin server or proxy; a request through a proxy has a machine for each.
    ///   - isConfidential: whether the route to a URL hides the request. Default: TLS, or a host on this machine.
    package init(
        own: UserCredential? = nil, hasCallback: Bool = false, source: ChallengeSource = .origin,
        isConfidential: @escaping @Sendable (HTTPURL) -> Bool = { $0.isSecure || $0.isLocal }
    ) {
        self.isConfidential = isConfidential
        self.hasCallback = hasCallback
        self.source = source
        if let own { self.own = [Own(credential: own, isKept: false)] }
    }

    /// Replaces the request's credentials.
    ///
    /// - Parameters:
    ///   - isKept: the session keeps the credential once the server accepts it.
    ///   - url: gives the origin, if no attempt was made yet.
    package mutating func take(_ credential: UserCredential, isKept: Bool, for url: HTTPURL?) {
        own = [Own(credential: credential, origin: home ?? url?.securityOrigin, isKept: isKept)]
    }

    /// Adds a credential for a known place, such as a proxy. Basic, if permitted, is sent before any challenge.
    package mutating func know(_ credential: UserCredential, at url: HTTPURL) {
        let origin = url.securityOrigin
        guard !own.contains(where: { $0.origin == origin }) else { return }
        var credential = credential
        // the credential was given for this very place
        if credential.schemes == nil { credential.schemes = UserCredential.Scheme.allCases }
        own.append(Own(credential: credential, origin: origin, isKept: false, isEarly: true))
    }

    /// Begins an attempt: the origin of its first URL becomes that of the request's own credential.
    package mutating func begin(at url: HTTPURL) {
        signatures = 0
        stales = 0
        let origin = home ?? url.securityOrigin
        home = origin
        for index in own.indices where own[index].origin == nil { own[index].origin = origin }
    }

    /// Credentials that were refused in this exchange so far.
    package var failures: Int { refusals.count }

    /// Whether the request has a credential for the URL, or a callback that can supply one.
    package func mayBeChallenged(at url: HTTPURL, _ spaces: ProtectionSpaces) -> Bool {
        hasCallback || credential(at: url) != nil || !spaces.candidates(url, realm: nil, source: source).isEmpty
    }

    /// The signature to send before any challenge; nil for none.
    package func early(_ url: HTTPURL, _ spaces: inout ProtectionSpaces) -> Signature? {
        let own = credential(at: url)
        let known = spaces.early(url, own: own, source: source, isConfidential: isConfidential(url))
        guard let signature = known ?? ownEarly(url) else { return nil }
        return isRefused(signature.credential, at: url, realm: signature.space.realm) ? nil : signature
    }

    private func ownEarly(_ url: HTTPURL) -> Signature? {
        let own = own.first { $0.isEarly && $0.origin == url.securityOrigin }
        guard let own, own.credential.permits(.basic, isConfidential: isConfidential(url)) else { return nil }
        let space = ProtectionSpace(source, of: url, realm: "")
        return Signature(space, own.credential, .basic(isUTF8: false), isEarly: true)
    }

    private func credential(at url: HTTPURL) -> UserCredential? {
        own.first { $0.origin == url.securityOrigin }?.credential
    }

    // MARK: a challenge

    /// Handles a 401 or 407 response.
    ///
    /// - Parameters:
    ///   - offers: the challenges in the response.
    ///   - sent: the signature of the refused attempt, if any.
    ///   - clientNonce: a random nonce, for a Digest signature.
    package mutating func challenged(
        _ offers: [Challenge], by source: ChallengeSource, at url: HTTPURL, sent: Signature?,
        _ spaces: inout ProtectionSpaces, clientNonce: String
    ) -> Step {
        let pending = Pending(offers: offers, url: url, source: source, sent: sent)
        if let sent, !renews(pending, sent, spaces) {
            refuse(sent, pending)
            spaces.refused(sent)
        }
        guard signatures < Self.mostSignatures, stales <= Self.mostStale else { return .leave }
        return sign(pending, &spaces, clientNonce) ?? callback(pending)
    }

    /// Handles the credential from the client's callback; nil if the callback supplied none.
    package mutating func replied(
        _ credential: UserCredential?, isKept: Bool, _ spaces: inout ProtectionSpaces, clientNonce: String
    ) -> Step {
        guard let pending, let credential else { return .leave }
        self.pending = nil
        let origin = pending.url.securityOrigin
        own.removeAll { $0.origin == origin }
        own.append(Own(credential: credential, origin: origin, isKept: isKept))
        guard let step = sign(pending, &spaces, clientNonce) else { return .leave }
        if isKept, case .sign(let signature) = step { spaces.tries(signature, at: pending.url) }
        return step
    }

    /// Notes that the server accepted a signature.
    package mutating func accepted(_ signature: Signature, at url: HTTPURL, _ spaces: inout ProtectionSpaces) {
        spaces.proved(signature, at: url)
        let origin = signature.space.origin
        for index in own.indices where own[index].origin == origin && own[index].credential == signature.credential {
            if own[index].isKept { spaces.keep(signature, at: url) }
            own[index].isKept = false
        }
    }

    /// Whether only the nonce was refused, and not the credential: the challenge says `stale`, or the early signature
    /// was a guess and the challenge now names another nonce, realm or scheme, or other requests have used the nonce up.
    private mutating func renews(_ pending: Pending, _ sent: Signature, _ spaces: ProtectionSpaces) -> Bool {
        guard case .digest(let old, _, _) = sent.proof else {
            return sent.isEarly && !pending.offers.isEmpty && !pending.offers.contains { $0.isOf("Basic") }
        }
        let digests = pending.offers.compactMap { DigestChallenge($0, from: pending.url) }
        if let same = digests.first(where: { $0.realm == old.realm }) {
            // later on no other request uses the nonce
            let isShared = sent.isEarly || (stales <= 1 && spaces.mayBeUsedUp(sent))
            guard same.isStale || (isShared && same.nonce != old.nonce) else { return false }
            stales += 1
            return true
        }
        // a guess that was made for another realm was not wrong there
        return sent.isEarly && !digests.isEmpty
    }

    /// Notes a refusal: for all realms with Basic, whose value is the same in every realm, or if the server no longer
    /// offers Digest for the realm, and thus requests the password itself, or renames the realm.
    private mutating func refuse(_ sent: Signature, _ pending: Pending) {
        let digests = pending.offers.compactMap { DigestChallenge($0, from: pending.url) }
        let isWhole = sent.scheme == .basic || !digests.contains { $0.realm == sent.space.realm }
        refusals.append(
            Refusal(
                origin: pending.url.securityOrigin, realm: isWhole ? nil : sent.space.realm,
                credential: sent.credential))
    }

    /// Whether the server refused this credential before, with any scheme: no weaker scheme is tried.
    private func isRefused(_ credential: UserCredential, at url: HTTPURL, realm: String) -> Bool {
        let origin = url.securityOrigin
        return refusals.contains {
            $0.origin == origin && $0.credential.hasLogin(of: credential)
                && ($0.realm == nil || $0.realm == realm)
        }
    }

    /// Nil if no known credential can sign.
    private mutating func sign(
        _ pending: Pending, _ spaces: inout ProtectionSpaces, _ clientNonce: String
    ) -> Step? {
        let url = pending.url
        let own = pending.source == source ? credential(at: url) : nil
        for offer in AuthenticationOffer.ranked(pending.offers, from: url) {
            let usable = own.map { [$0] } ?? spaces.candidates(url, realm: offer.realm, source: pending.source)
            let fitting = usable.first {
                $0.permits(offer.scheme, isConfidential: isConfidential(url))
                    && !isRefused($0, at: url, realm: offer.realm)
            }
            guard let fitting, let signature = signature(fitting, offer, pending, &spaces, clientNonce) else {
                continue
            }
            signatures += 1
            return .sign(signature)
        }
        return nil
    }

    private mutating func callback(_ pending: Pending) -> Step {
        let offers = AuthenticationOffer.ranked(pending.offers, from: pending.url)
        guard hasCallback, callbacks < Self.mostCallbacks, !offers.isEmpty else { return .leave }
        callbacks += 1
        self.pending = pending
        return .callback(
            AuthenticationCallback(
                source: pending.source, url: pending.url, offers: offers, failures: failures,
                refused: pending.sent?.credential))
    }

    private func signature(
        _ credential: UserCredential, _ offer: AuthenticationOffer, _ pending: Pending,
        _ spaces: inout ProtectionSpaces, _ clientNonce: String
    ) -> Signature? {
        guard let challenge = offer.digest else {
            let space = ProtectionSpace(pending.source, of: pending.url, realm: offer.realm)
            return Signature(space, credential, .basic(isUTF8: offer.isUTF8))
        }
        var refused: String?
        if case .digest(let old, _, _)? = pending.sent?.proof { refused = old.nonce }
        return spaces.signature(
            challenge, from: pending.url, credential, source: pending.source, refused: refused,
            clientNonce: clientNonce, agrees: stales <= 1)
    }
}

/// A challenge of a supported scheme.
package struct AuthenticationOffer: Sendable {
    package var scheme: UserCredential.Scheme
    package var realm: String
    /// Nil for Basic.
    package var digest: DigestChallenge?
    /// Of Basic: the server reads UTF-8 (RFC 7617 section 2.1).
    package var isUTF8 = false

    /// The supported challenges, strongest first; equally strong ones in the server's order.
    package static func ranked(_ challenges: [Challenge], from url: HTTPURL) -> [AuthenticationOffer] {
        var offers: [AuthenticationOffer] = []
        for challenge in challenges {
            if let digest = DigestChallenge(challenge, from: url) {
                offers.append(AuthenticationOffer(scheme: .digest, realm: digest.realm, digest: digest))
            } else if challenge.isOf("Basic") {
                let isUTF8 = HTTPFields.same(challenge["charset"] ?? "", "UTF-8")
                offers.append(AuthenticationOffer(scheme: .basic, realm: challenge["realm"] ?? "", isUTF8: isUTF8))
            }
        }
        let ranked = offers.enumerated().sorted { one, other in
            let (a, b) = (one.element.strength, other.element.strength)
            return a == b ? one.offset < other.offset : a > b
        }
        return ranked.map(\.element)
    }

    private var strength: Int { digest.map { $0.algorithm.strength + 1 } ?? 0 }
}

/// The content of an authentication callback.
package struct AuthenticationCallback: Sendable {
    package var source: ChallengeSource
    package var url: HTTPURL
    /// The strongest first.
    package var offers: [AuthenticationOffer]
    /// Credentials that were refused in this exchange so far.
    package var failures: Int
    /// The credential that the server refused last.
    package var refused: UserCredential?
}
