// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Who asks: exactly one of `basic`, `bearer` and `raw`.
struct AuthParameter: JSONDecodable {
    var authorization: Authorization

    private static let kinds: [StaticString] = ["basic", "bearer", "raw"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let basic: Basic? = try fields.optional("basic")
        let bearer: String? = try fields.optional("bearer")
        let raw: String? = try fields.optional("raw")
        try fields.finish()
        guard present.count == 1 else { throw JSONComplaint("must have exactly one of basic, bearer and raw") }
        if let basic {
            authorization = .basic(username: basic.username, password: basic.password)
        } else if let bearer {
            authorization = .bearer(bearer)
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
