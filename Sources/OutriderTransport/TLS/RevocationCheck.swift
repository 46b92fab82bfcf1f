// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import OutriderHTTP
import X509

/// Looks for the certificates of a path in revocation lists, and asks over the network where a policy says so.
struct RevocationCheck: Sendable {
    private let policy: RevocationPolicy
    private let subject: ServerSubject
    private let lists: [(file: String, list: CRLScanner)]
    private let fetcher: RevocationFetcher
    private let client: ClientKey

    /// What is known of one certificate.
    private enum State {
        case good
        /// And why.
        case unknown(HTTPFailure.Kind, String)
    }

    /// Throws `revocationPolicyCreationFailed` if a file cannot be read.
    init(
        _ policy: RevocationPolicy, _ files: PolicyFiles, _ subject: ServerSubject, _ fetcher: RevocationFetcher,
        for client: ClientKey
    ) throws(HTTPFailure) {
        self.policy = policy
        self.subject = subject
        self.fetcher = fetcher
        self.client = client
        var lists: [(String, CRLScanner)] = []
        for file in policy.crlFiles { lists += try files.lists(in: file).map { (file, $0) } }
        self.lists = lists
    }

    /// Throws `revocationCheckFailed` for a revoked certificate, and for an unknown state where that is a failure.
    func check(_ path: [Certificate]) async throws(HTTPFailure) -> TLSFacts.Revocation {
        var sum = TLSFacts.Revocation.good
        let deadline = Date.now.timeIntervalSince1970 + RevocationFetcher.patience
        var later = path.dropLast().reduce(0) { $0 + places(of: $1).count }
        for (certificate, issuer) in zip(path, path.dropFirst()) {
            later -= places(of: certificate).count
            var state = try listed(certificate, issuer)
            if case .unknown = state, policy.usesNetwork {
                state = try await fetched(certificate, issuer, until: deadline, later: later)
            }
            guard case .unknown(let kind, let why) = state else { continue }
            sum = .unknown
            if policy.isRequired { throw HTTPFailure(kind, why, phase: .tls) }
        }
        return sum
    }

    // MARK: lists in files

    private func listed(_ certificate: Certificate, _ issuer: Certificate) throws(HTTPFailure) -> State {
        guard let parts = CertificateScanner(certificate.der) else {
            return .unknown(.revocationCheckFailed, "the certificate \(certificate.subject) cannot be read")
        }
        var fault: State?
        var isGood = false
        // all of them: a newer list may have an entry that an older list lacks
        for (file, list) in lists where list.issuer.elementsEqual(parts.issuer) {
            guard let reason = try look(for: certificate, parts, in: list, by: issuer) else {
                isGood = true
                continue
            }
            fault = .unknown(
                .revocationPolicyCreationFailed, "the revocation list \(file) of \(issuer.subject) \(reason)")
        }
        if isGood { return .good }
        return fault
            ?? .unknown(
                .revocationCheckFailed,
                "no revocation list of \(issuer.subject) is known, and the policy for \(subject.host) requires one "
                    + "(name it in crlFiles)")
    }

    /// Throws for a revoked certificate. Nil if the list says that it is not; otherwise why the list says nothing.
    private func look(
        for certificate: Certificate, _ parts: CertificateScanner, in list: CRLScanner, by issuer: Certificate
    ) throws(HTTPFailure) -> String? {
        let forged = unauthentic(list, issuer)
        // revoked certificates stay revoked, so that an entry counts in a list that is out of date too
        if forged == nil, let entry = list.entry(of: parts.serialNumber), entry.reason != "removeFromCRL" {
            throw revoked(certificate, entry)
        }
        return forged ?? Self.fault(from: list.thisUpdate, to: list.nextUpdate) ?? list.scope.fault(for: parts)
    }

    /// Why something says nothing about the absence of an entry; nil if it does.
    private static func fault(from this: Int64, to next: Int64?) -> String? {
        if this > now { return "is not valid yet" }
        if let next, next < now { return "is out of date: fetch a new one" }
        return nil
    }

    private static var now: Int64 { Int64(exactly: Date.now.timeIntervalSince1970.rounded(.down)) ?? 0 }

    /// Why the entries of a list do not count; nil if they do.
    private func unauthentic(_ list: CRLScanner, _ issuer: Certificate) -> String? {
        if list.scope.isForeign { return "has a critical extension that is not understood" }
        guard RevocationSignature.isValid(list.signed, by: issuer) else {
            return "is not signed by that issuer"
        }
        return Self.maySignLists(issuer) ? nil : "is signed by a key that may not sign lists (cRLSign)"
    }

    /// RFC 5280 section 6.3.3 (f): by its key usage, where the certificate has one.
    private static func maySignLists(_ issuer: Certificate) -> Bool {
        do {
            return try issuer.extensions.keyUsage?.cRLSign ?? true
        } catch {
            return false
        }
    }

    private func revoked(_ certificate: Certificate, _ entry: CRLScanner.Entry) -> HTTPFailure {
        let date = entry.revokedAt.map { Date(timeIntervalSince1970: Double($0)) }
        let since = date.map { " since \(CertificateObjection.moment($0).prefix(10))" } ?? ""
        let reason = entry.reason.map { " (\($0))" } ?? ""
        return HTTPFailure(
            .revocationCheckFailed,
            "the certificate \(certificate.subject) of \(subject.host) is revoked\(since)\(reason)",
            phase: .tls)
    }

    // MARK: the network

    /// Where to ask for a certificate, in order.
    private func places(of certificate: Certificate) -> [(method: RevocationPolicy.Method, url: String)] {
        guard let parts = CertificateScanner(certificate.der) else { return [] }
        let sources = RevocationSources(parts)
        return policy.methods.flatMap { method in
            (method == .ocsp ? sources.responders : sources.lists).map { (method: method, url: $0) }
        }
    }

    /// - Parameter later: how many places there are for the other certificates. Each place gets an equal part of the
    ///   time that is left, so that none that stalls keeps the others from being asked.
    private func fetched(
        _ certificate: Certificate, _ issuer: Certificate, until deadline: Double, later: Int
    ) async throws(HTTPFailure) -> State {
        guard let parts = CertificateScanner(certificate.der), let above = CertificateScanner(issuer.der) else {
            return .unknown(.revocationCheckFailed, "the certificate \(certificate.subject) cannot be read")
        }
        let places = places(of: certificate)
        var reasons: [String] = []
        for (index, place) in places.enumerated() {
            let left = deadline - Date.now.timeIntervalSince1970
            let part = left / Double(places.count - index + later)
            let found: String?
            switch place.method {
            case .ocsp: found = try await queryResponder(place.url, certificate, parts, issuer, above, part)
            case .crl: found = try await fetchList(place.url, certificate, parts, issuer, part)
            }
            guard let found else { return .good }
            reasons.append("\(place.url) \(found)")
        }
        let why = reasons.isEmpty ? "the certificate names no place to ask" : reasons.joined(separator: "; ")
        return .unknown(
            .revocationCheckFailed,
            "the policy for \(subject.host) requires to know whether the certificate \(certificate.subject) is revoked: \(why)"
        )
    }

    /// Throws for a revoked certificate. Nil if the responder says that it is not; otherwise why that is not known.
    private func queryResponder(
        _ url: String, _ certificate: Certificate, _ parts: CertificateScanner, _ issuer: Certificate,
        _ above: CertificateScanner, _ seconds: Double
    ) async throws(HTTPFailure) -> String? {
        let name = OCSPCertificate(parts, issuer: above)
        let query = RevocationFetcher.Query(url: url, body: name.request)
        let (bytes, isKept) = await bytes(query, seconds)
        guard let bytes else { return seconds > 0 ? "cannot be asked" : Self.late }
        guard let response = OCSPResponse(bytes) else {
            return OCSPResponse.fault(bytes).map { "refuses to say (\($0))" } ?? "sent no OCSP response"
        }
        guard let signer = OCSPSigner.find(for: response, issuer),
            RevocationSignature.isValid(response.signed, by: signer)
        else { return "sent a response that is not signed by the issuer" }
        guard let single = response.single(name) else { return "says nothing of it" }
        if case .revoked(let entry) = single.status { throw revoked(certificate, entry) }
        // clocks differ
        let next = single.nextUpdate ?? single.thisUpdate + 86_400
        if let fault = Self.fault(from: single.thisUpdate - 300, to: next + 300) {
            return "sent a response that \(fault)"
        }
        guard single.status == .good else { return "does not know it" }
        if !isKept { fetcher.keep(bytes, for: query, until: next, now: Self.now) }
        return nil
    }

    private func fetchList(
        _ url: String, _ certificate: Certificate, _ parts: CertificateScanner, _ issuer: Certificate,
        _ seconds: Double
    ) async throws(HTTPFailure) -> String? {
        let query = RevocationFetcher.Query(url: url, issuer: CertificateScanner.fingerprint(issuer.der))
        let (bytes, isKept) = await bytes(query, seconds)
        guard let bytes else { return seconds > 0 ? "cannot be fetched" : Self.late }
        let der = bytes.first == DERScanner.sequence ? bytes : PEMBlock.all(in: bytes).first?.bytes ?? []
        guard let list = CRLScanner(der) else { return "is no revocation list" }
        guard list.issuer.elementsEqual(parts.issuer) else { return "is a list of another issuer" }
        if let fault = try look(for: certificate, parts, in: list, by: issuer) { return fault }
        if !isKept, let next = list.nextUpdate { fetcher.keep(bytes, for: query, until: next, now: Self.now) }
        return nil
    }

    /// And whether they were kept from before.
    private func bytes(_ query: RevocationFetcher.Query, _ seconds: Double) async -> ([UInt8]?, Bool) {
        if let known = fetcher.known(query, now: Self.now) { return (known, true) }
        guard seconds > 0 else { return (nil, false) }
        return (try? await fetcher.fetch(query, within: seconds, subject.addresses, for: client), false)
    }

    private static let late = "was not asked, because no time was left"
}

/// Who may sign an OCSP response (RFC 6960 section 4.2.2.2).
enum OCSPSigner {
    /// The issuer itself, or a certificate that it issued for this purpose; nil for neither.
    static func find(for response: OCSPResponse, _ issuer: Certificate) -> Certificate? {
        if let parts = CertificateScanner(issuer.der), response.isBy(parts) { return issuer }
        let now = Date.now
        return response.certificates.lazy.compactMap { bytes -> Certificate? in
            guard let parts = CertificateScanner(bytes), response.isBy(parts),
                let certificate = try? Certificate(derEncoded: bytes), certificate.issuer == issuer.subject,
                certificate.notValidBefore <= now, certificate.notValidAfter >= now,
                (try? certificate.extensions.extendedKeyUsage)?.contains(.ocspSigning) == true,
                StrengthPolicy.fault(of: certificate, 1, isRoot: false) == nil,
                issuer.publicKey.isValidSignature(certificate.signature, for: certificate)
            else { return nil }
            return certificate
        }.first
    }
}

/// Signatures of lists and responses, by the contents of the object identifiers of their algorithms; none with SHA-1.
enum RevocationSignature {
    static func isValid(_ signed: SignedDER, by signer: Certificate) -> Bool {
        guard let found = known.first(where: { $0.oid.elementsEqual(signed.algorithm) }) else { return false }
        return signer.publicKey.isValidSignature(
            Array(signed.signature), for: Array(signed.bytes), signatureAlgorithm: found.algorithm)
    }

    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03]
    private static let known: [(oid: [UInt8], algorithm: Certificate.SignatureAlgorithm)] = [
        (rsa + [0x0B], .sha256WithRSAEncryption), (rsa + [0x0C], .sha384WithRSAEncryption),
        (rsa + [0x0D], .sha512WithRSAEncryption), (ecdsa + [0x02], .ecdsaWithSHA256),
        (ecdsa + [0x03], .ecdsaWithSHA384), (ecdsa + [0x04], .ecdsaWithSHA512), ([0x2B, 0x65, 0x70], .ed25519),
    ]
}
