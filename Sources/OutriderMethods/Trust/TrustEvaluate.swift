// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tries a trust policy against a server, or against certificates, without a request.
struct TrustEvaluate: Method {
    static let name = "trust.evaluate"

    struct Params: JSONDecodable {
        var subject: TrustSubject
        var chain: [[UInt8]]?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let url: String? = try fields.optional("url")
            let text: String? = try fields.optional("chain")
            let host: String? = try fields.optional("host") { (host: String) in
                HostPattern.host(host) == nil ? "must be a host name or an address" : nil
            }
            subject = try TrustSubject(&fields)
            try fields.finish()
            guard (url == nil) != (text == nil) else { throw JSONComplaint("must hold one of url and chain") }
            if let url {
                if host != nil {
                    throw JSONComplaint("host goes with chain only", at: JSONPointer(member: "host"))
                }
                subject.url = url
            }
            guard let text else { return }
            do throws(JSONComplaint) {
                chain = try CertificateText.certificates(text)
            } catch {
                throw error.under(member: "chain")
            }
            let name = try JSONFields.need("host", host)
            subject.url = "https://\(name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name)/"
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let examination = try await params.subject.examined(params.chain, call)
        let served = Engine.certificates(examination.served)
        let path = Engine.certificates(examination.path)
        return ReplyMembers { writer in
            writer.member("trusted", examination.failure == nil)
            if let failure = examination.failure { writer.member("error", FailureShape(failure)) }
            writer.member("verified", examination.verified?.rawValue)
            writer.member("revocation", examination.revocation?.rawValue)
            writer.member("chain", served.map(CertificateShape.init))
            writer.member("path", path.map(CertificateShape.init))
            writer.member("pins", (path.isEmpty ? served : path).map(\.spki))
            guard let facts = examination.facts else { return }
            writer.member("tls") { writer in
                writer.member("version", facts.version)
                writer.member("cipher", facts.cipher)
                writer.member("group", facts.group)
                writer.member("alpn", facts.alpn)
                writer.member("clientCertificate", facts.clientCertificate?.rawValue)
            }
        }
    }
}
