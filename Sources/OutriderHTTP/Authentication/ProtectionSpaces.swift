// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The credentials that a group of requests may use, and the protection spaces seen so far, with nonces and their
/// counts, so that a request can authenticate before it is refused.
///
/// A credential is used only for the origin, realm and path that it was given for.
///
/// Responsible for: no nonce count used twice, bounds on memory.
/// Not responsible for: the reaction to a challenge, which AuthenticationMachine decides.
package struct ProtectionSpaces: Sendable {
    /// A credential and its scope.
    package struct Entry: Sendable, Equatable {
        package var source = ChallengeSource.origin
        /// As in `HTTPURL.securityOrigin`.
        package var origin: String
        /// A prefix of the paths.
        package var path: String
        /// Nil for any.
        package var realm: String?
        package var credential: UserCredential
        /// Send Basic before any challenge.
        package var isEarly: Bool

        package init(
            _ credential: UserCredential, for url: HTTPURL, realm: String? = nil, isEarly: Bool = false,
            source: ChallengeSource = .origin
        ) {
            self.source = source
            origin = url.securityOrigin
            path = String(url.path)
            self.realm = realm
            self.credential = credential
            self.isEarly = isEarly
        }

        fileprivate func isFor(_ url: HTTPURL, _ source: ChallengeSource) -> Bool {
            self.source == source && origin == url.securityOrigin && path.covers(path: url.path)
        }
    }

    private struct Learned: Sendable {
        var space: ProtectionSpace
        var credential: UserCredential
        /// Nil for Basic.
        var digest: Digest?
        /// Of Basic, whether the server reads UTF-8.
        var isUTF8 = false
        var paths: [String]
        /// Whether the server has accepted the credential.
        var isProven: Bool

        func isDigest(_ space: ProtectionSpace, _ credential: UserCredential) -> Bool {
            digest != nil && self.space == space && self.credential == credential
        }

        /// Whether the nonce is that of the signature; true for Basic.
        func hasNonce(of signature: Signature) -> Bool {
            guard case .digest(let challenge, _, _) = signature.proof else { return true }
            return digest?.challenge.nonce == challenge.nonce
        }
    }

    private struct Digest: Sendable {
        var challenge: DigestChallenge
        var clientNonce: String
        /// The last count used.
        var count: UInt32

        /// Nil once all counts are used up.
        mutating func turn(_ space: ProtectionSpace, _ credential: UserCredential, isEarly: Bool) -> Signature? {
            guard count < .max else { return nil }
            count += 1
            return Signature(
                space, credential, .digest(challenge, count: count, clientNonce: clientNonce), isEarly: isEarly)
        }
    }

    /// Most remembered spaces; beyond that, the least recently used is forgotten.
    package static let mostLearned = 256
    /// Most remembered nonces of a space before the server has accepted the credential.
    private static let mostUnproven = 16
    /// Most credentials that no server has accepted yet; beyond that, the oldest is dropped.
    package static let mostTried = 16
    /// Most credentials kept from callbacks; beyond that, the oldest is dropped.
    package static let mostKept = 256

    /// The given credentials, then those kept from callbacks.
    package private(set) var entries: [Entry]
    private let given: Int
    /// Credentials to be kept once a server accepts them; all requests may try them.
    private var tried: [Entry] = []
    /// The most recently used is last.
    private var learned: [Learned] = []

    package init(_ entries: [Entry] = []) {
        self.entries = entries
        given = entries.count
    }

    package var isEmpty: Bool { entries.isEmpty && tried.isEmpty && learned.isEmpty }

    // MARK: before a challenge

    /// The signature for a request before any challenge: of a space in which the credential was accepted before, or
    /// Basic for an entry with `isEarly`.
    ///
    /// - Parameters:
    ///   - own: the request's own credential, in place of the kept ones.
    ///   - isConfidential: whether the route hides the request; an earlier request may have had another route.
    package mutating func early(
        _ url: HTTPURL, own: UserCredential?, source: ChallengeSource = .origin, isConfidential: Bool = true
    ) -> Signature? {
        let origin = url.securityOrigin
        let usable = own.map { [$0] } ?? candidates(url, realm: nil, source: source)
        guard !usable.isEmpty else { return nil }
        var best: (index: Int, length: Int)?
        for (index, space) in learned.enumerated()
        where space.isProven && space.space.source == source && space.space.origin == origin
            && usable.contains(space.credential)
            && (space.digest != nil || space.credential.permits(.basic, isConfidential: isConfidential))
        {
            guard let length = space.paths.filter({ $0.covers(path: url.path) }).map(\.utf8.count).max() else {
                continue
            }
            if length >= best?.length ?? 0 { best = (index, length) }
        }
        if let best { return use(best.index, isEarly: true) }
        guard own == nil, let entry = entries.first(where: { $0.isEarly && $0.isFor(url, source) }) else { return nil }
        let space = ProtectionSpace(source, of: url, realm: entry.realm ?? "")
        return Signature(space, entry.credential, .basic(isUTF8: false), isEarly: true)
    }

    /// The signature of a request that is sent once more before the server has judged the last: the next use of the nonce.
    /// Nil if the space has another nonce now, or none.
    package mutating func again(_ sent: Signature) -> Signature? {
        guard case .digest(let challenge, _, _) = sent.proof else { return nil }
        let index = learned.lastIndex {
            $0.space == sent.space && $0.credential == sent.credential
                && $0.digest?.challenge.nonce == challenge.nonce
        }
        return index.flatMap { use($0, isEarly: sent.isEarly) }
    }

    private mutating func use(_ index: Int, isEarly: Bool) -> Signature? {
        var space = learned.remove(at: index)
        guard var digest = space.digest else {
            learned.append(space)
            return Signature(space.space, space.credential, .basic(isUTF8: space.isUTF8), isEarly: isEarly)
        }
        // a nonce that was used so often is forgotten
        guard let turn = digest.turn(space.space, space.credential, isEarly: isEarly) else { return nil }
        space.digest = digest
        learned.append(space)
        return turn
    }

    // MARK: after a challenge

    /// The credentials for a URL: those with a matching realm first, then those with deeper paths.
    ///
    /// - Parameter realm: nil for any.
    package func candidates(_ url: HTTPURL, realm: String?, source: ChallengeSource) -> [UserCredential] {
        let fitting = (entries + tried).filter { entry in
            entry.isFor(url, source) && (realm == nil || entry.realm == nil || entry.realm == realm)
        }
        let ranked = fitting.enumerated().sorted { one, other in
            let (a, b) = (one.element, other.element)
            if (a.realm == nil) != (b.realm == nil) { return b.realm == nil }
            if a.path.utf8.count != b.path.utf8.count { return a.path.utf8.count > b.path.utf8.count }
            return one.offset < other.offset
        }
        var found: [UserCredential] = []
        for (_, entry) in ranked where !found.contains(entry.credential) { found.append(entry.credential) }
        return found
    }

    /// Signs for a Digest challenge. If another request has received a newer nonce meanwhile, that nonce is used
    /// instead, so that many requests refused at once agree on a single nonce. Before the server has accepted the
    /// credential each request uses the nonce of its own challenge: a refusal then means a wrong password, also where
    /// a nonce counts once.
    ///
    /// - Parameters:
    ///   - refused: the nonce of the refused signature, if any.
    ///   - clientNonce: a random client nonce, for a new nonce.
    ///   - agrees: whether the nonce of another request may be used, and other requests may use the nonce of this request.
    package mutating func signature(
        _ challenge: DigestChallenge, from url: HTTPURL, _ credential: UserCredential, source: ChallengeSource,
        refused: String?, clientNonce: String, agrees: Bool
    ) -> Signature? {
        let space = ProtectionSpace(source, of: url, realm: challenge.realm)
        let index = learned.firstIndex {
            $0.isDigest(space, credential) && ($0.isProven || $0.digest?.challenge.nonce == challenge.nonce)
        }
        if let index, let known = learned[index].digest, agrees,
            known.challenge.nonce != refused, known.challenge.isLike(challenge),
            let signature = use(index, isEarly: false)
        {
            return signature
        }
        var digest = Digest(challenge: challenge, clientNonce: clientNonce, count: 0)
        let turn = digest.turn(space, credential, isEarly: false)
        if !agrees, learned.contains(where: { $0.isDigest(space, credential) }) { return turn }
        let isProven = index.map { learned[$0].isProven } ?? false
        if isProven { forget(space, credential) } else { makeRoom(space, credential) }
        let paths = challenge.paths.isEmpty ? ["/"] : challenge.paths
        remember(Learned(space: space, credential: credential, digest: digest, paths: paths, isProven: isProven))
        return turn
    }

    /// Whether the nonce of a refused signature rather than the credential may be the reason, although the server does
    /// not say so: the server has accepted the credential, and other requests use the nonce, too, or use a newer nonce.
    package func mayBeUsedUp(_ sent: Signature) -> Bool {
        guard case .digest(let challenge, let count, _) = sent.proof else { return false }
        let known = learned.last { $0.isDigest(sent.space, sent.credential) && $0.isProven }
        guard let digest = known?.digest else { return false }
        return count > 1 || digest.count > 1 || digest.challenge.nonce != challenge.nonce
    }

    // MARK: outcomes

    /// Notes that the server accepted the signature of a request to that URL.
    package mutating func proved(_ signature: Signature, at url: HTTPURL) {
        let index = learned.lastIndex {
            $0.space == signature.space && $0.credential == signature.credential && $0.hasNonce(of: signature)
        }
        if tried.contains(where: { $0.isLike(signature) }) { keep(signature, at: url) }
        switch (signature.proof, index) {
        case (.basic, let index?) where learned[index].digest == nil:
            let folder = url.folder
            guard !learned[index].paths.contains(where: { $0.covers(path: url.path) }) else { return }
            learned[index].paths.removeAll { $0.hasPrefix(folder) }
            learned[index].paths.append(folder)
            if learned[index].paths.count > 32 { learned[index].paths.removeFirst() }
        case (.basic(let isUTF8), _):
            let learned = Learned(
                space: signature.space, credential: signature.credential, digest: nil, isUTF8: isUTF8,
                paths: [url.folder], isProven: true)
            remember(learned)
        case (.digest, let index?):
            guard !learned[index].isProven else { return }
            learned[index].isProven = true
            learned.removeAll { $0.isDigest(signature.space, signature.credential) && !$0.isProven }
        case (.digest, nil): break
        }
    }

    /// Notes that the server refused a signature: the credential is no longer sent before a challenge. The counts of
    /// nonces that other requests use remain.
    package mutating func refused(_ signature: Signature) {
        tried.removeAll { $0.isLike(signature) }
        learned.removeAll {
            $0.space == signature.space && $0.credential == signature.credential
                && (signature.scheme == .basic || $0.digest == nil || $0.isProven)
        }
    }

    /// Sets the nonce of the space (`nextnonce`, RFC 7616 section 3.5). Only the first successor of a nonce counts,
    /// since a server may send each of many requests a different nonce.
    package mutating func renew(_ signature: Signature, nonce: FieldText, clientNonce: String) {
        guard case .digest(let challenge, _, _) = signature.proof else { return }
        for index in learned.indices
        where learned[index].space == signature.space && learned[index].credential == signature.credential
            && learned[index].digest?.challenge.nonce == challenge.nonce
        {
            let next = challenge.renewed(nonce)
            learned[index].digest = Digest(challenge: next, clientNonce: clientNonce, count: 0)
        }
    }

    /// Offers a credential to other requests, so that they need no callback; the credential is kept once a server
    /// accepts it.
    package mutating func tries(_ signature: Signature, at url: HTTPURL) {
        tried.removeAll { $0.isLike(signature) }
        if tried.count >= Self.mostTried { tried.removeFirst() }
        tried.append(Entry(signature, at: url))
    }

    /// Keeps an accepted credential for its realm in the whole origin.
    package mutating func keep(_ signature: Signature, at url: HTTPURL) {
        tried.removeAll { $0.isLike(signature) }
        let entry = Entry(signature, at: url)
        // a newer password replaces the older one for the same place
        entries =
            entries.prefix(given)
            + entries.dropFirst(given).filter {
                $0.source != entry.source || $0.origin != entry.origin || $0.realm != entry.realm
            }
        if entries.count - given >= Self.mostKept { entries.remove(at: given) }
        entries.append(entry)
    }

    private mutating func remember(_ space: Learned) {
        if learned.count >= Self.mostLearned { learned.removeFirst() }
        learned.append(space)
    }

    /// Forgets the oldest nonce before any proof.
    private mutating func makeRoom(_ space: ProtectionSpace, _ credential: UserCredential) {
        let unproven = learned.indices.filter { learned[$0].isDigest(space, credential) }
        if unproven.count >= Self.mostUnproven, let oldest = unproven.first { learned.remove(at: oldest) }
    }

    private mutating func forget(_ space: ProtectionSpace, _ credential: UserCredential) {
        learned.removeAll { $0.space == space && $0.credential == credential }
    }
}

extension ProtectionSpaces.Entry {
    /// For all of the realm.
    fileprivate init(_ signature: Signature, at url: HTTPURL) {
        var root = url
        root.target = "/"
        self.init(signature.credential, for: root, realm: signature.space.realm, source: signature.space.source)
    }

    fileprivate func isLike(_ signature: Signature) -> Bool {
        source == signature.space.source && origin == signature.space.origin && realm == signature.space.realm
            && credential == signature.credential
    }
}

extension DigestChallenge {
    /// Whether two challenges differ in nothing but the nonce.
    fileprivate func isLike(_ other: DigestChallenge) -> Bool {
        algorithm == other.algorithm && isSession == other.isSession && protection == other.protection
            && realm == other.realm
    }
}
