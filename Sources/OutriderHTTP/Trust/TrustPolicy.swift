// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How the certificates of a server are evaluated. Named after the evaluators of Alamofire.
package indirect enum TrustPolicy: Sendable, Hashable {
    /// A path to a trusted root, dates, usage, constraints, and the host's name (RFC 5280, RFC 9525).
    case `default`
    /// Every certificate is accepted.
    case none
    case pinnedCertificates(CertificatePins)
    case publicKeys(KeyPins)
    case revocation(RevocationPolicy)
    /// The client's callback decides.
    case callback(ClientCode)
    /// All policies must accept, in order.
    case all([TrustPolicy])

    /// Whether the policy accepts every certificate.
    package var isNone: Bool { self == .none }

    /// The fault of an incomplete policy, found before any connection: 1501 or 1502. Nil if complete.
    package var fault: HTTPFailure? {
        switch self {
        case .default, .none, .revocation, .callback: return nil
        case .pinnedCertificates(let pins):
            guard pins.isEmpty else { return nil }
            return HTTPFailure(
                .noCertificatesFound,
                "pinnedCertificates names no certificate (give files or pem; without pins no server could pass)",
                phase: .tls, pointer: "/trust/pinnedCertificates")
        case .publicKeys(let pins):
            guard pins.pins.isEmpty else { return nil }
            return HTTPFailure(
                .noPublicKeysFound, "publicKeys names no key (give pins; without pins no server could pass)",
                phase: .tls, pointer: "/trust/publicKeys/pins")
        case .all(let policies): return policies.lazy.compactMap(\.fault).first
        }
    }

    /// Whether the policy contains a callback.
    package var callsClient: Bool {
        switch self {
        case .callback: true
        case .all(let policies): policies.contains(where: \.callsClient)
        default: false
        }
    }

    /// Names the client whose callback decides; nil without a callback.
    package var client: String? {
        switch self {
        case .callback(let code): code.client
        case .all(let policies): policies.lazy.compactMap(\.client).first
        default: nil
        }
    }

    /// A copy whose callbacks go to that client.
    package func bound(to callbacks: any SecurityCallbacks) -> TrustPolicy {
        switch self {
        case .callback(let code): .callback(code.bound(to: callbacks))
        case .all(let policies): .all(policies.map { $0.bound(to: callbacks) })
        default: self
        }
    }

    /// The pins of the policy, nested policies included.
    package var pinCount: Int {
        switch self {
        case .pinnedCertificates(let pins): pins.files.count + pins.certificates.count
        case .publicKeys(let pins): pins.pins.count
        case .all(let policies): policies.reduce(0) { $0 &+ $1.pinCount }
        default: 0
        }
    }
}

/// Pinned certificates: the verified path must contain at least one.
package struct CertificatePins: Sendable, Hashable {
    /// PEM files.
    package var files: [String]
    /// Certificates in DER.
    package var certificates: [[UInt8]]
    /// The pinned certificates are the only roots.
    package var acceptsSelfSigned = false
    /// Perform the default evaluation of the path.
    package var chain = true
    /// Compare the host with the names of the certificate.
    package var host = true

    package init(files: [String] = [], certificates: [[UInt8]] = []) {
        self.files = files
        self.certificates = certificates
    }

    package var isEmpty: Bool { files.isEmpty && certificates.isEmpty }
}

/// Pinned public keys: the verified path must contain at least one.
package struct KeyPins: Sendable, Hashable {
    package var pins: [PublicKeyPin]
    /// Perform the default evaluation of the path.
    package var chain = true
    /// Compare the host with the names of the certificate.
    package var host = true

    package init(_ pins: [PublicKeyPin]) { self.pins = pins }
}

/// Checks the revocation of the path's certificates, except for the root, after the default evaluation.
package struct RevocationPolicy: Sendable, Hashable {
    /// PEM or DER files of revocation lists.
    package var crlFiles: [String] = []
    package enum Method: String, Sendable, CaseIterable { case ocsp, crl }

    /// The network methods for certificates without a status in the files, in order of preference.
    package var methods = Method.allCases
    /// Allow network requests.
    package var usesNetwork = false
    /// An unknown revocation status is a failure.
    package var isRequired = false

    package init() {}
}
