// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON
import Synchronization

/// The results of a TLS handshake. All requests of a connection share an object.
package final class TLSFacts: Sendable, Equatable {
    package enum ClientCertificate: String, Sendable {
        /// The client's certificate was sent.
        case sent
        /// The server requested a certificate, and none was configured.
        case requested
    }

    package enum Revocation: String, Sendable { case good, unknown }

    /// "TLSv1.3".
    package let version: String
    /// The name of the cipher suite in the TLS registry; nil if unknown.
    package let cipher: String?
    /// The key exchange group, "X25519MLKEM768".
    package let group: String?
    /// "h2" or "http/1.1"; nil if the server chose none.
    package let alpn: String?
    /// How the server was verified.
    package let verified: VerifiedBy
    /// Nil if the policy does not check revocation.
    package let revocation: Revocation?
    /// Nil if the server did not request a certificate.
    package let clientCertificate: ClientCertificate?
    /// The verified path, or without verification the server's certificates, in DER, the server's own first.
    package let chain: [[UInt8]]
    /// The end of validity of a verified server certificate, in seconds since 1970; nil if not relevant.
    package let expires: Double?
    private let written = Mutex<JSONText?>(nil)

    package init(
        version: String, cipher: String?, group: String?, alpn: String?, verified: VerifiedBy, revocation: Revocation?,
        clientCertificate: ClientCertificate?, chain: [[UInt8]], expires: Double? = nil
    ) {
        self.expires = expires
        self.version = version
        self.cipher = cipher
        self.group = group
        self.alpn = alpn
        self.verified = verified
        self.revocation = revocation
        self.clientCertificate = clientCertificate
        self.chain = chain
    }

    /// The facts as replies write them; `write` is called once.
    package func text(_ write: () -> JSONText) -> JSONText {
        written.withLock { written in
            if let written { return written }
            let text = write()
            written = text
            return text
        }
    }

    package static func == (one: TLSFacts, other: TLSFacts) -> Bool {
        one === other
            || (one.version == other.version && one.cipher == other.cipher && one.alpn == other.alpn
                && one.verified == other.verified && one.chain == other.chain)
    }
}

/// A certificate's facts for display.
package struct CertificateFacts: Sendable, Equatable {
    /// Distinguished names as RFC 4514 writes them.
    package var subject: String
    package var issuer: String
    /// Hosts and addresses of subjectAltName.
    package var names: [String]
    /// RFC 3339, in UTC.
    package var notBefore: String
    package var notAfter: String
    /// SHA-256 of the certificate in DER, in hexadecimal digits.
    package var sha256: String
    /// The pin of its key, `sha256/…`.
    package var spki: String
    package var pem: String

    package init(
        subject: String, issuer: String, names: [String], notBefore: String, notAfter: String, sha256: String,
        spki: String, pem: String
    ) {
        self.subject = subject
        self.issuer = issuer
        self.names = names
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.sha256 = sha256
        self.spki = spki
        self.pem = pem
    }
}
