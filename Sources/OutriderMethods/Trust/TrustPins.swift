// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Returns the pins of a server, ready for use.
struct TrustPins: Method {
    static let name = "trust.pins"

    struct Params: JSONDecodable {
        var subject: TrustSubject

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let url: String? = try fields.optional("url")
            subject = try TrustSubject(&fields)
            try fields.finish()
            subject.url = try JSONFields.need("url", url)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let examination = try await params.subject.examined(nil, call)
        let path = Engine.certificates(examination.path)
        let certificates = path.isEmpty ? Engine.certificates(examination.served) : path
        return ReplyMembers { writer in
            writer.member("trusted", examination.failure == nil)
            if let failure = examination.failure { writer.member("error", FailureShape(failure)) }
            writer.member("publicKeys") { $0.member("pins", certificates.map(\.spki)) }
            writer.member("subjects", certificates.map(\.subject.printable))
        }
    }
}
