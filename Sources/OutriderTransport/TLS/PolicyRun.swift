// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import X509

/// One evaluation of a policy.
struct PolicyRun: Sendable {
    private let served: ServedChain
    private let roots: Result<TrustRoots.Store, HTTPFailure>
    private let files: PolicyFiles
    private let context: Context

    /// Who evaluates for whom.
    struct Context: Sendable {
        var fetcher: RevocationFetcher
        var client: ClientKey
        var callbackRuns: CallbackRuns
    }

    /// Told when a callback to a client begins, and when it ends.
    typealias CallbackRuns = @Sendable (Bool) -> Void

    init(
        _ served: ServedChain, roots: Result<TrustRoots.Store, HTTPFailure>, _ files: PolicyFiles,
        _ context: Context
    ) {
        self.served = served
        self.roots = roots
        self.files = files
        self.context = context
    }

    func verdict(_ policy: TrustPolicy) async throws(HTTPFailure) -> TrustVerdict {
        switch policy {
        case .none: return TrustVerdict(verified: .none, path: served.certificates)
        case .default: return try await defaultVerdict()
        case .pinnedCertificates(let pins): return try await verdict(pins)
        case .publicKeys(let pins): return try await verdict(pins)
        case .revocation(let revocation):
            var found = try await defaultVerdict()
            let check = try RevocationCheck(revocation, files, served.subject, context.fetcher, for: context.client)
            found.revocation = try await check.check(found.path)
            return found
        case .callback(let code): return try await verdict(code)
        case .all(let policies):
            var sum = TrustVerdict(verified: .none, path: served.certificates)
            // no callback is made about a server that another policy refuses
            for policy in policies.filter({ !$0.callsClient }) + policies.filter(\.callsClient) {
                let found = try await verdict(policy)
                sum.verified = max(sum.verified, found.verified)
                sum.revocation = found.revocation ?? sum.revocation
                sum.path = found.path
            }
            return sum
        }
    }

    /// The client knows what the default evaluation says.
    private func verdict(_ code: ClientCode) async throws(HTTPFailure) -> TrustVerdict {
        let subject = served.subject
        let facts = served.certificates.map { CertificateFacts($0, $0.der) }
        var callback = TrustCallback(host: subject.host, port: subject.port, reason: nil, chain: facts)
        var path = served.certificates
        do throws(HTTPFailure) {
            path = try await defaultVerdict().path
        } catch {
            callback.reason = error.message
        }
        context.callbackRuns(true)
        let reply = await code.decide(callback)
        context.callbackRuns(false)
        guard reply.isTrusted else {
            let why = reply.reason ?? "it said no"
            throw HTTPFailure(
                .customEvaluationFailed, "the client does not trust the certificate of \(subject.host): \(why)",
                phase: .tls)
        }
        return TrustVerdict(verified: .callback, path: path)
    }

    private func defaultVerdict() async throws(HTTPFailure) -> TrustVerdict {
        let path = try await path(host: true, by: try roots.get())
        let verified: VerifiedBy = served.subject.security.settings.roots == nil ? .default : .roots
        return TrustVerdict(verified: verified, path: path)
    }

    /// Throws what speaks against the certificates.
    private func path(host: Bool, by store: TrustRoots.Store) async throws(HTTPFailure) -> [Certificate] {
        let search = PathSearch(served: served, roots: store)
        switch await search.find(host: host) {
        case .found(let path): return path
        case .failed(let reasons):
            var isOnlyTheName = false
            if host, case .found = await search.find(host: false) { isOnlyTheName = true }
            throw CertificateObjection(served, roots: store.all, isOnlyTheName: isOnlyTheName, reasons: reasons).failure
        }
    }

    private func verdict(_ pins: CertificatePins) async throws(HTTPFailure) -> TrustVerdict {
        var pinned: Set<Certificate> = []
        for file in pins.files { pinned.formUnion(try files.certificates(in: file)) }
        for bytes in pins.certificates {
            if let certificate = try? Certificate(derEncoded: bytes) { pinned.insert(certificate) }
        }
        guard !pinned.isEmpty else {
            throw HTTPFailure(
                .noCertificatesFound, "pinnedCertificates holds no certificate that can be read (give PEM)", phase: .tls
            )
        }
        let store = pins.acceptsSelfSigned ? TrustRoots.Store(Array(pinned)) : nil
        let path = try await pinnedPath(.certificates(pinned), chain: pins.chain, host: pins.host, by: store)
        return TrustVerdict(verified: .pins, path: path)
    }

    private func verdict(_ pins: KeyPins) async throws(HTTPFailure) -> TrustVerdict {
        let path = try await pinnedPath(.keys(Set(pins.pins)), chain: pins.chain, host: pins.host, by: nil)
        return TrustVerdict(verified: .pins, path: path)
    }

    private func pinnedPath(
        _ pins: PathPins, chain: Bool, host: Bool, by own: TrustRoots.Store?
    ) async throws(HTTPFailure) -> [Certificate] {
        guard chain else { return try await linkedPath(pins, host: host) }
        let store: TrustRoots.Store
        if let own { store = own } else { store = try roots.get() }
        let search = PathSearch(served: served, roots: store)
        if case .found(let path) = await search.find(host: host, pins: pins) { return path }
        let path = try await self.path(host: host, by: store)
        throw .unpinned(pins, path, of: served.subject.host)
    }

    private func linkedPath(_ pins: PathPins, host: Bool) async throws(HTTPFailure) -> [Certificate] {
        let search = PathSearch(served: served, roots: TrustRoots.Store([]))
        if case .found(let path) = await search.findLinked(to: pins, host: host) { return path }
        if host, case .found = await search.findLinked(to: pins, host: false) {
            throw CertificateObjection(served, isOnlyTheName: true, reasons: []).failure
        }
        throw .unpinned(pins, [served.leaf], of: served.subject.host)
    }
}

extension HTTPFailure {
    fileprivate static func unpinned(_ pins: PathPins, _ path: [Certificate], of host: String) -> HTTPFailure {
        let keys = path.compactMap { $0.pin?.description }
        let list = keys.joined(separator: ", ")
        let remedy = "if the server changed its certificate on purpose, replace the pin"
        switch pins {
        case .certificates(let set):
            let text =
                "none of the \(set.count) pinned certificates is on the path of \(host), whose keys are \(list) (\(remedy))"
            return HTTPFailure(.certificatePinningFailed, text, phase: .tls, details: [.pins(keys)])
        case .keys(let set):
            let text =
                "none of the \(set.count) pinned keys is on the path of \(host), whose keys are \(list) (\(remedy))"
            return HTTPFailure(.publicKeyPinningFailed, text, phase: .tls, details: [.pins(keys)])
        }
    }
}
