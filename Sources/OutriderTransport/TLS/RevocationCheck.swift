// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import OutriderHTTP
import X509

/// Looks for the certificates of a path in revocation lists. Blocks while it reads files.
struct RevocationCheck {
    private let policy: RevocationPolicy
    private let host: String
    private let lists: [(file: String, list: CRLScanner)]

    /// Throws `revocationPolicyCreationFailed` if a file cannot be read.
    init(_ policy: RevocationPolicy, host: String) throws(HTTPFailure) {
        self.policy = policy
        self.host = host
        var lists: [(String, CRLScanner)] = []
        for file in policy.crlFiles { lists += try Self.read(file).map { (file, $0) } }
        self.lists = lists
    }

    private static func read(_ file: String) throws(HTTPFailure) -> [CRLScanner] {
        let bytes: [UInt8]
        do throws(HTTPFailure) {
            bytes = try CertificateFile.contents(of: file)
        } catch {
            let reason = error.underlying?.message ?? "it is too large"
            throw HTTPFailure(
                .revocationPolicyCreationFailed, "the revocation list \(file) cannot be read: \(reason)", phase: .tls,
                underlying: error.underlying)
        }
        let found =
            bytes.first == DERScanner.sequence
            ? [CRLScanner(bytes)]
            : PEMBlock.all(in: bytes).filter { $0.label == "X509 CRL" }.map { CRLScanner($0.bytes) }
        let lists = found.compactMap(\.self)
        guard !lists.isEmpty, lists.count == found.count else {
            throw HTTPFailure(
                .revocationPolicyCreationFailed, "\(file) holds no revocation list that can be read (give PEM or DER)",
                phase: .tls)
        }
        return lists
    }

    /// Throws `revocationCheckFailed` for a revoked certificate, and for an unknown state where that is a failure.
    func check(_ path: [Certificate]) throws(HTTPFailure) -> TLSFacts.Revocation {
        var state = TLSFacts.Revocation.good
        for (certificate, issuer) in zip(path, path.dropFirst()) {
            guard try isGood(certificate, issuer) else {
                state = .unknown
                continue
            }
        }
        return state
    }

    private func isGood(_ certificate: Certificate, _ issuer: Certificate) throws(HTTPFailure) -> Bool {
        guard let parts = CertificateScanner(certificate.der) else { return false }
        let mine = lists.filter { $0.list.issuer.elementsEqual(parts.issuer) }
        var fault: HTTPFailure?
        var isGood = false
        for (file, list) in mine {
            let forged = unauthentic(list, issuer)
            // revoked certificates stay revoked, so that an entry counts in a list that is out of date too
            if forged == nil, let entry = list.entry(of: parts.serialNumber), entry.reason != "removeFromCRL" {
                throw revoked(certificate, entry)
            }
            if let reason = forged ?? outdated(list) {
                fault = HTTPFailure(
                    .revocationPolicyCreationFailed, "the revocation list \(file) of \(issuer.subject) \(reason)",
                    phase: .tls)
                continue
            }
            isGood = true
        }
        if isGood || !policy.isRequired { return isGood }
        if let fault { throw fault }
        throw HTTPFailure(
            .revocationCheckFailed,
            "no revocation list of \(issuer.subject) is known, and the policy for \(host) requires one (name it in crlFiles)",
            phase: .tls)
    }

    /// Why a list says nothing about the absence of an entry; nil if it does.
    private func outdated(_ list: CRLScanner) -> String? {
        let now = Int64(exactly: Date.now.timeIntervalSince1970.rounded(.down)) ?? 0
        if list.thisUpdate > now { return "is not valid yet" }
        if let next = list.nextUpdate, next < now { return "is out of date: fetch a new one" }
        return nil
    }

    /// Why the entries of a list do not count; nil if they do.
    private func unauthentic(_ list: CRLScanner, _ issuer: Certificate) -> String? {
        if list.isPartial { return "has a critical extension that is not understood" }
        guard let algorithm = CRLSignature.algorithm(list.algorithm),
            issuer.publicKey.isValidSignature(
                Array(list.signature), for: Array(list.signedBytes), signatureAlgorithm: algorithm)
        else { return "is not signed by that issuer" }
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
            .revocationCheckFailed, "the certificate \(certificate.subject) of \(host) is revoked\(since)\(reason)",
            phase: .tls)
    }
}

/// Algorithms of signatures by the contents of their object identifiers.
private enum CRLSignature {
    static func algorithm(_ oid: ArraySlice<UInt8>) -> Certificate.SignatureAlgorithm? {
        known.first { $0.oid.elementsEqual(oid) }?.algorithm
    }

    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03]
    private static let known: [(oid: [UInt8], algorithm: Certificate.SignatureAlgorithm)] = [
        (rsa + [0x0B], .sha256WithRSAEncryption), (rsa + [0x0C], .sha384WithRSAEncryption),
        (rsa + [0x0D], .sha512WithRSAEncryption), (ecdsa + [0x02], .ecdsaWithSHA256),
        (ecdsa + [0x03], .ecdsaWithSHA384), (ecdsa + [0x04], .ecdsaWithSHA512), ([0x2B, 0x65, 0x70], .ed25519),
    ]
}
