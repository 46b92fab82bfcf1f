// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The credentials of a request: exactly one of `basic`, `bearer`, `digest`, `oauth`, `raw` and `username`; the last
/// goes with `password` and `schemes`.
struct AuthParameter: JSONDecodable {
    /// Nil if an OAuth credential provides the token.
    var authorization: Authorization?
    /// The name of that credential.
    var credential: CredentialName?

    private static let kinds: [StaticString] = ["basic", "bearer", "digest", "oauth", "raw", "username"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let basic: Basic? = try fields.optional("basic")
        let bearer: String? = try fields.optional("bearer")
        let raw: String? = try fields.optional("raw")
        self.credential = try fields.optional("oauth")
        let digest: DigestParameter? = try fields.optional("digest")
        let strays = fields.present(["password", "schemes"])
        let credential = try fields.credential()
        try fields.finish()
        guard present.count == 1 else {
            throw JSONComplaint("must have exactly one of \(Self.kinds.map(\.description).joined(separator: ", "))")
        }
        if credential == nil, let stray = strays.first?.description {
            throw JSONComplaint("\(stray) goes with username only", at: JSONPointer(member: stray))
        }
        if self.credential != nil {
            authorization = nil
        } else if let basic {
            authorization = .basic(username: basic.username, password: basic.password)
        } else if let bearer {
            authorization = .bearer(bearer)
        } else if let given = digest?.credential ?? credential {
            authorization = .challenge(given)
        } else {
            authorization = .raw(raw ?? "")
        }
    }

    private struct Basic: JSONDecodable {
        var username: String
        var password: String

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let username: String? = try fields.optional("username")
            let password: String? = try fields.optional("password")
            try fields.finish()
            self.username = try JSONFields.need("username", username)
            self.password = try JSONFields.need("password", password)
        }
    }
}
