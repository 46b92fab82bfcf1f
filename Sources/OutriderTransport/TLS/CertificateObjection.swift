// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import Glibc
import OutriderHTTP
import X509

/// What speaks against the certificates of a server, in words: the first thing that a person would want to know.
struct CertificateObjection {
    let failure: HTTPFailure

    /// - Parameters:
    ///   - served: what the server sent.
    ///   - roots: the trusted certificates.
    ///   - isOnlyTheName: whether all else is right.
    ///   - reasons: of the library, if nothing better is found.
    init(_ served: ServedChain, roots: Set<Certificate> = [], isOnlyTheName: Bool, reasons: [String]) {
        let (chain, host) = (served.certificates, served.subject.name)
        let words = Self.age(of: chain, host: host)
        if let words {
            failure = HTTPFailure(.trustEvaluationFailed, words, phase: .tls)
        } else if isOnlyTheName {
            let names = Self.names(in: chain[0])
            let list = names.isEmpty ? Self.nameless : names.prefix(5).joined(separator: ", ")
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            let text = "the certificate of \(host) is for another host: it names \(list)\(more)"
            failure = HTTPFailure(.hostValidationFailed, text, phase: .tls)
        } else {
            let text = "the certificate of \(host) is not trusted: \(Self.origin(of: served, roots, reasons))"
            failure = HTTPFailure(.trustEvaluationFailed, text, phase: .tls)
        }
    }

    private static let nameless =
        "no host in subjectAltName (a common name does not count: issue it again with the name)"

    private static func age(of chain: [Certificate], host: String) -> String? {
        let now = Date.now
        for (index, certificate) in chain.enumerated() {
            let whose =
                index == 0
                ? "the certificate of \(host)" : "the certificate of the issuer \(certificate.subject) for \(host)"
            if certificate.notValidAfter < now { return "\(whose) expired on \(day(certificate.notValidAfter))" }
            if certificate.notValidBefore > now {
                return "\(whose) is not valid before \(day(certificate.notValidBefore))"
            }
        }
        return nil
    }

    private static func origin(of served: ServedChain, _ roots: Set<Certificate>, _ reasons: [String]) -> String {
        let chain = served.certificates
        let remedy =
            "if you trust it, name a file that holds its issuer's certificate (tls.roots, --cacert in a shell, or "
            + "ca-file in the configuration)"
        let leaf = chain[0]
        if let oid = leaf.extensions.first(where: { $0.critical && !SignaturesPolicy.known.contains($0.oid) })?.oid {
            return "it has the critical extension \(oid), which is not understood"
        }
        // the library has reasons only against chains that reach a root
        if let reason = reasons.first { return words(reason) }
        let others = Array(chain.dropFirst())
        if let words = foreignExtension(of: issuers(of: leaf, in: others + roots)) { return words }
        if leaf.issuer == leaf.subject { return "it is self-signed; \(remedy)" }
        if let fault = StrengthPolicy.fault(of: leaf, 0, isRoot: false) { return fault }
        if let liar = forged(chain) { return "its signature is not by the key of its issuer \(liar)" }
        let last = issuers(of: leaf, in: others).last ?? leaf
        if let fault = served.unreadable { return "a certificate that the server sent cannot be used: \(fault)" }
        if chain.count == 1 {
            return "its issuer \(last.issuer) is not known, and the server sent no certificate beside its own "
                + "(the server may have to send an intermediate certificate); \(remedy)"
        }
        return "its issuer \(last.issuer) is not known; \(remedy)"
    }

    /// The issuers above a certificate, by their names, as far as they are there. A server may send others beside them.
    private static func issuers(of leaf: Certificate, in others: [Certificate]) -> [Certificate] {
        var (found, left) = ([Certificate](), others)
        while let index = left.firstIndex(where: { $0.subject == (found.last ?? leaf).issuer }) {
            found.append(left.remove(at: index))
        }
        return found
    }

    /// A path through such an issuer is not even begun.
    private static func foreignExtension(of issuers: [Certificate]) -> String? {
        for issuer in issuers {
            let strange = issuer.extensions.first { $0.critical && !SignaturesPolicy.known.contains($0.oid) }
            guard let oid = strange?.oid else { continue }
            return "the certificate of the issuer \(issuer.subject) has the critical extension \(oid), which is not"
                + " understood"
        }
        return nil
    }

    /// The issuer whose certificate is there and did not sign the one before.
    private static func forged(_ chain: [Certificate]) -> DistinguishedName? {
        for (certificate, issuer) in zip(chain, chain.dropFirst()) where certificate.issuer == issuer.subject {
            if !issuer.publicKey.isValidSignature(certificate.signature, for: certificate) { return issuer.subject }
        }
        return nil
    }

    /// A reason of the library in the words of the house.
    private static func words(_ reason: String) -> String {
        let foreign =
            "an authority on its path has name constraints of a kind that is not supported (such as otherName)"
        let issues: [(String, String)] = [
            ("unsupported constraint", foreign), ("constraints are not supported", foreign),
            ("is not marked as a CA", "a certificate on its path issued another one without being an authority"),
            ("has maximum path length", "an authority on its path may not issue certificates of authorities"),
            ("name constraints", "its names are outside of the name constraints of its issuer"),
            ("nameConstraints", "its names are outside of the name constraints of its issuer"),
            ("basic constraints", "the basic constraints of a certificate on its path cannot be read"),
            ("permitted", "its names are outside of the name constraints of its issuer"),
            ("excluded", "its names are outside of the name constraints of its issuer"),
            ("invalid expiry", "its validity ends before it begins"),
        ]
        for (mark, words) in issues where reason.contains(mark) { return words }
        return String(reason.prefix(200))
    }

    static func names(in certificate: Certificate) -> [String] {
        let names = ServerNamePolicy.names(of: certificate)
        return names.hosts + names.addresses.compactMap(text)
    }

    /// Four bytes or sixteen, as an address is written.
    private static func text(_ address: [UInt8]) -> String? {
        guard address.count == 4 || address.count == 16 else { return nil }
        let room = Int(INET6_ADDRSTRLEN)  // safe: a small constant
        let text = [CChar](unsafeUninitializedCapacity: room) { buffer, count in
            let size = socklen_t(truncatingIfNeeded: room)
            let family = address.count == 4 ? AF_INET : AF_INET6
            let done = inet_ntop(family, address, buffer.baseAddress, size)
            count = done.map { strlen($0) } ?? 0
        }
        return String(decoding: text.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// "2026-03-01", in UTC.
    private static func day(_ date: Date) -> String { String(moment(date).prefix { $0 != "T" }) }

    /// "2026-03-01T12:00:00Z".
    static func moment(_ date: Date) -> String {
        var seconds = time_t(clamping: Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: CInt) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
