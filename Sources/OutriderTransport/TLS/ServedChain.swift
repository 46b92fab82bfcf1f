// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import OutriderHTTP
import X509

/// What a server sent to be believed.
struct ServedChain: Sendable {
    let subject: ServerSubject
    /// The server's own certificate first; without those that cannot be read, and at most two of one subject and key.
    let certificates: [Certificate]
    /// What is wrong with the first that cannot be read; nil if all can.
    let unreadable: String?

    var leaf: Certificate { certificates[0] }

    /// Throws `trustEvaluationFailed` if a certificate cannot be read. The bytes are not empty.
    init(_ der: [[UInt8]], _ subject: ServerSubject) throws(HTTPFailure) {
        self.subject = subject
        let first = der.first { (try? Certificate(derEncoded: $0)) == nil }
        unreadable = first.map(Self.fault)
        guard let leaf = try? Certificate(derEncoded: der[0]) else {
            let text = "the certificate of \(subject.host) is not trusted: \(Self.fault(of: der[0]))"
            throw HTTPFailure(.trustEvaluationFailed, text, phase: .tls)
        }
        certificates = Self.few([leaf] + der.dropFirst().compactMap { try? Certificate(derEncoded: $0) })
    }

    /// At most two certificates of one subject and key, as of an authority that two roots vouch for: the number of paths
    /// grows with the factorial of the number of certificates that may sign each other.
    private static func few(_ certificates: [Certificate]) -> [Certificate] {
        var seen: Set<Certificate> = []
        var counts: [Authority: Int] = [:]
        return certificates.filter { certificate in
            let authority = Authority(subject: certificate.subject, key: certificate.publicKey)
            guard seen.insert(certificate).inserted, counts[authority, default: 0] < mostOfOneKey else { return false }
            counts[authority, default: 0] += 1
            return true
        }
    }

    private static let mostOfOneKey = 2

    private struct Authority: Hashable {
        var subject: DistinguishedName
        var key: Certificate.PublicKey
    }

    /// Why a certificate cannot be read, as far as it can be told.
    static func fault(of der: [UInt8]) -> String {
        guard let scanner = CertificateScanner(der) else { return "it cannot be read" }
        if scanner.hasPSSSignature {
            return "it is signed with RSASSA-PSS, which is not supported (sha256WithRSAEncryption and ECDSA are)"
        }
        return StrengthPolicy.fault(of: scanner) ?? "it has a key, or a signature, of a kind that is not supported"
    }
}

/// Why a server is believed.
struct TrustVerdict: Sendable {
    var verified: VerifiedBy
    var revocation: TLSFacts.Revocation?
    /// The verified path, the server's own certificate first; what the server sent where no path was looked for.
    var path: [Certificate] = []

    /// The end of the validity of the server's certificate; nil if the policy does not judge it.
    var expires: Double? {
        guard verified == .default || verified == .roots, let leaf = path.first else { return nil }
        return leaf.notValidAfter.timeIntervalSince1970
    }
}
