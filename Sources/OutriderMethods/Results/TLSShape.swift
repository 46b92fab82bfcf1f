// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The TLS of a connection: TLSInfo of the contract.
struct TLSShape: ObjectShape {
    private let facts: TLSFacts
    private let showsChain: Bool

    init(_ facts: TLSFacts, showsChain: Bool) {
        self.facts = facts
        self.showsChain = showsChain
    }

    /// All requests of a connection have the same facts, which are written once.
    func encode(to writer: inout JSONWriter) {
        if showsChain { return writer.object { encodeMembers(to: &$0) } }
        writer.text(
            facts.text {
                var own = JSONWriter()
                own.object { encodeMembers(to: &$0) }
                return JSONText(written: own.bytes)
            })
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("version", facts.version)
        writer.member("cipher", facts.cipher)
        writer.member("group", facts.group)
        writer.member("alpn", facts.alpn)
        writer.member("verified", facts.verified.rawValue)
        writer.member("revocation", facts.revocation?.rawValue)
        writer.member("clientCertificate", facts.clientCertificate?.rawValue)
        if showsChain { writer.member("chain", Engine.certificates(facts.chain).map(CertificateShape.init)) }
    }
}

/// A certificate: CertificateInfo of the contract.
struct CertificateShape: ObjectShape {
    private let facts: CertificateFacts

    init(_ facts: CertificateFacts) { self.facts = facts }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("subject", facts.subject.printable)
        writer.member("issuer", facts.issuer.printable)
        writer.member("names", facts.names.map(\.printable))
        writer.member("notBefore", facts.notBefore)
        writer.member("notAfter", facts.notAfter)
        writer.member("sha256", facts.sha256)
        writer.member("spki", facts.spki)
        writer.member("pem", facts.pem)
    }
}
