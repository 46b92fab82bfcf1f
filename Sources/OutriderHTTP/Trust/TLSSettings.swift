// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// TLS settings; nil inherits from the wider scope: the session, then the service.
package struct TLSSettings: Sendable, Hashable {
    package enum Version: String, Sendable, CaseIterable, Comparable {
        case v12 = "1.2"
        case v13 = "1.3"

        package static func < (one: Version, other: Version) -> Bool { one == .v12 && other == .v13 }
    }

    package enum Ciphers: Sendable, Hashable {
        /// Forward secrecy and AEAD only: the three suites of TLS 1.3 and six of 1.2.
        case modern
        /// Also suites with CBC or without forward secrecy, for old devices.
        case compatible
        /// Numbers of the TLS registry, for 1.2; those of 1.3 are always enabled.
        case list([UInt16])
    }

    package var minVersion: Version?
    package var maxVersion: Version?
    package var ciphers: Ciphers?
    /// Numbers of the TLS registry, the preferred first.
    package var groups: [UInt16]?
    /// The name in place of the URL's: sent as SNI, and compared with the certificate; empty sends none.
    package var serverName: String?
    package var roots: RootsSpec?
    package var identity: IdentitySpec?

    package init() {}

    package static let standard = TLSSettings()

    /// A copy whose nil values are taken from other settings.
    package func merged(over other: TLSSettings) -> TLSSettings {
        var merged = self
        merged.minVersion = minVersion ?? other.minVersion
        merged.maxVersion = maxVersion ?? other.maxVersion
        merged.ciphers = ciphers ?? other.ciphers
        merged.groups = groups ?? other.groups
        merged.serverName = serverName ?? other.serverName
        merged.roots = roots ?? other.roots
        merged.identity = identity ?? other.identity
        return merged
    }
}

/// The sources of trusted root certificates.
package struct RootsSpec: Sendable, Hashable {
    /// A PEM file.
    package var file: String?
    /// A directory; all its files that hold certificates are used.
    package var directory: String?
    /// Certificates in DER.
    package var certificates: [[UInt8]]
    /// The roots of the system count as well.
    package var includesSystem: Bool

    package init(
        file: String? = nil, directory: String? = nil, certificates: [[UInt8]] = [], includesSystem: Bool = false
    ) {
        self.file = file
        self.directory = directory
        self.certificates = certificates
        self.includesSystem = includesSystem
    }

    /// The roots of the system, or those of SSL_CERT_FILE and SSL_CERT_DIR.
    package static let system = RootsSpec(includesSystem: true)
}

/// A client certificate and the source of its key. Files are read only when a server requests the certificate.
package struct IdentitySpec: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        /// PEM files; the key may be in the file of the certificate.
        case pem(certificate: String, key: String)
        /// A file in PKCS#12 form.
        case pkcs12(String)
    }

    package var source: Source
    package var passphrase: Passphrase?
    /// The identity's place in the request's parameters, for failures; nil for a session's identity.
    package var pointer: String?

    /// The source of the key's passphrase.
    package enum Passphrase: Sendable, Equatable {
        case text(SecretText)
        /// Looked for only if the key is encrypted.
        case code(ClientCode)
    }

    package init(_ source: Source, passphrase: Passphrase? = nil, pointer: String? = "/tls/identity") {
        self.source = source
        self.passphrase = passphrase
        self.pointer = pointer
    }

    package static func == (one: IdentitySpec, other: IdentitySpec) -> Bool {
        one.source == other.source && one.passphrase == other.passphrase
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(source) }

    package var callsClient: Bool { if case .code? = passphrase { true } else { false } }

    /// The files of the identity, that of the certificate first.
    package var files: [String] {
        switch source {
        case .pem(let certificate, let key): certificate == key ? [certificate] : [certificate, key]
        case .pkcs12(let path): [path]
        }
    }

    /// A copy whose callbacks go to that client.
    package func bound(to callbacks: any SecurityCallbacks) -> IdentitySpec {
        guard case .code(let code)? = passphrase else { return self }
        return IdentitySpec(source, passphrase: .code(code.bound(to: callbacks)), pointer: pointer)
    }

    /// The same of a session, whose parameters no failure points to.
    package var ofSession: IdentitySpec { IdentitySpec(source, passphrase: passphrase, pointer: nil) }
}
