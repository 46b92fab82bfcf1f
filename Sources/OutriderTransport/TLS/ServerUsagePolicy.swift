// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import SwiftASN1
import X509

/// Neither the certificate of a server nor one that issued it may be meant for something else only (RFC 5280 section
/// 4.2.1.12); the root, whose extensions count for nothing, apart.
struct ServerUsagePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.extendedKeyUsage]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        for (index, certificate) in chain.enumerated() where index == 0 || index < chain.count - 1 {
            guard let fault = Self.fault(of: certificate) else { continue }
            let text = index == 0 ? "it \(fault)" : "the certificate of the issuer \(certificate.subject) \(fault)"
            return .failsToMeetPolicy(reason: PolicyFailureReason(text))
        }
        return .meetsPolicy
    }

    static func fault(of certificate: Certificate) -> String? {
        do {
            guard let usage = try certificate.extensions.extendedKeyUsage else { return nil }
            if usage.contains(.serverAuth) || usage.contains(.any) { return nil }
            return "is not meant for servers"
        } catch {
            return "has an extended key usage that cannot be read"
        }
    }
}

/// No SHA-1 below the root, no RSA keys below 2,048 bits, no intermediate certificate of version 1 or with a key that
/// may not sign certificates.
struct StrengthPolicy: VerifierPolicy {
    let verifyingCriticalExtensions = CertificatePolicies.labels

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        for (index, certificate) in chain.enumerated() {
            let isRoot = index == chain.count - 1
            // the library lets a certificate of version 1, which has no basic constraints, issue others
            if index > 0, !isRoot, certificate.version != .v3 {
                return .failsToMeetPolicy(reason: PolicyFailureReason(Self.noAuthority))
            }
            // the library leaves the key usage of authorities aside
            if index > 0, !isRoot, SignaturesPolicy.isAuthority(certificate), !SignaturesPolicy.maySign(certificate) {
                let text = "the key of the issuer \(certificate.subject) may not sign certificates"
                return .failsToMeetPolicy(reason: PolicyFailureReason("\(text) (its key usage is another)"))
            }
            if let fault = Self.fault(of: certificate, index, isRoot: isRoot) {
                return .failsToMeetPolicy(reason: PolicyFailureReason(fault))
            }
        }
        return .meetsPolicy
    }

    /// - Parameter isRoot: whether the certificate is trusted for itself, so that its signature means nothing.
    static func fault(of certificate: Certificate, _ index: Int, isRoot: Bool) -> String? {
        let whose = index == 0 ? "it" : "the certificate of the issuer \(certificate.subject)"
        if let bits = CertificateScanner(certificate.der)?.rsaKeyBits, let fault = fault(ofRSA: bits) {
            return "\(whose) \(fault)"
        }
        if !isRoot, certificate.signatureAlgorithm == .sha1WithRSAEncryption {
            return "\(whose) \(forgeable)"
        }
        return nil
    }

    /// The same of a certificate that the library refuses to read.
    static func fault(of certificate: CertificateScanner) -> String? {
        if let bits = certificate.rsaKeyBits, let fault = fault(ofRSA: bits) { return "it \(fault)" }
        return certificate.hasForgeableSignature ? "it \(forgeable)" : nil
    }

    private static func fault(ofRSA bits: Int) -> String? {
        bits < 2048 ? "has an RSA key of only \(bits) bits, and 2048 are needed" : nil
    }

    static let noAuthority = "a certificate on its path issued another one without being an authority"
    private static let forgeable = "is signed with SHA-1 or MD5, and such signatures can be forged"
}

/// The host must be among the names of the certificate (RFC 9525); the common name does not count.
struct ServerNamePolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [.X509ExtensionID.subjectAlternativeName]
    /// Nil where every name will do.
    let subject: ServerSubject?

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        guard let subject, !Self.names(of: chain.leaf).cover(subject.name) else { return .meetsPolicy }
        return .failsToMeetPolicy(reason: "it is for another host")
    }

    static func names(of certificate: Certificate) -> ServerNames {
        var names = ServerNames()
        guard let list = try? certificate.extensions.subjectAlternativeNames else { return names }
        for name in list {
            switch name {
            case .dnsName(let name): names.hosts.append(name)
            case .ipAddress(let address): names.addresses.append(Array(address.bytes))
            default: break
            }
        }
        return names
    }
}

/// One of the pins must be on the path.
struct PinPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = []
    let pins: PathPins?

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        guard let pins, !chain.contains(where: pins.contains) else { return .meetsPolicy }
        return .failsToMeetPolicy(reason: "no pin is on the path")
    }
}

/// Extensions about the policies under which an authority issues. No policy is required of a path, so that these decide
/// nothing (RFC 5280 section 6.1.5); `policyConstraints`, which can require one, is not among them.
enum CertificatePolicies {
    /// `certificatePolicies`, `policyMappings` and `inhibitAnyPolicy`.
    static let labels: [ASN1ObjectIdentifier] = [[2, 5, 29, 32], [2, 5, 29, 33], [2, 5, 29, 54]]
}

/// Says of all critical extensions that they were looked at: for searches that follow signatures of authorities.
struct SignaturesPolicy: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier]

    /// The critical extensions that the default evaluation looks at.
    static let known = Set<ASN1ObjectIdentifier>([
        .X509ExtensionID.extendedKeyUsage, .X509ExtensionID.subjectAlternativeName, .X509ExtensionID.basicConstraints,
        .X509ExtensionID.nameConstraints, .X509ExtensionID.keyUsage,
    ]).union(CertificatePolicies.labels)

    init(_ certificates: [Certificate]) {
        verifyingCriticalExtensions = certificates.flatMap { $0.extensions.filter(\.critical).map(\.oid) }
    }

    /// A customer of a pinned authority is not an authority: the certificates between the first and the last must be.
    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) -> PolicyEvaluationResult {
        for (index, certificate) in chain.enumerated() where index > 0 && index < chain.count - 1 {
            guard Self.mayIssue(certificate, above: index - 1) else {
                return .failsToMeetPolicy(reason: PolicyFailureReason(StrengthPolicy.noAuthority))
            }
        }
        return .meetsPolicy
    }

    /// - Parameter below: the number of authorities between the certificate and the server's.
    private static func mayIssue(_ certificate: Certificate, above below: Int) -> Bool {
        guard certificate.version == .v3,
            case .isCertificateAuthority(let most)? = try? certificate.extensions.basicConstraints
        else { return false }
        if let most, most < below { return false }
        return maySign(certificate)
    }

    static func isAuthority(_ certificate: Certificate) -> Bool {
        if case .isCertificateAuthority? = try? certificate.extensions.basicConstraints { true } else { false }
    }

    /// Whether the key may sign certificates (RFC 5280 section 6.1.4 step n). Without a key usage it may.
    static func maySign(_ certificate: Certificate) -> Bool {
        do {
            guard let usage = try certificate.extensions.keyUsage else { return true }
            return usage.keyCertSign
        } catch {
            return false
        }
    }
}

/// What is pinned.
enum PathPins: Sendable {
    case certificates(Set<Certificate>)
    case keys(Set<PublicKeyPin>)

    func contains(_ certificate: Certificate) -> Bool {
        switch self {
        case .certificates(let set): set.contains(certificate)
        case .keys(let set): certificate.pin.map(set.contains) ?? false
        }
    }
}

extension Certificate {
    /// In DER; empty if it cannot be written, which does not happen to a certificate that was read.
    var der: [UInt8] {
        var serializer = DER.Serializer()
        guard (try? serializer.serialize(self)) != nil else { return [] }
        return serializer.serializedBytes
    }

    /// The pin of its key.
    var pin: PublicKeyPin? { PublicKeyPin(ofCertificate: der) }
}
