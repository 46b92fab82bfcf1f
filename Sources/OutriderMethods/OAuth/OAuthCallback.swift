// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Takes the answer of a login that did not come to a listener.
struct OAuthCallback: Method {
    static let name = "oauth.callback"

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Where the browser was sent back to, with query or fragment.
        var url: Secret

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            let url: String? = try fields.optional("url") { text in
                text.utf8.contains(where: { "?#".utf8.contains($0) }) && text.utf8.count <= 1 << 16
                    ? nil : "must be the whole URL that the browser was sent to, with what stands behind ? or #"
            }
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
            self.url = Secret(try JSONFields.need("url", url))
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            return CredentialInfoShape(
                try await call.scope.service.logins.callback(credential, params.url.exposed))
        } catch {
            try Task.checkCancellation()
            throw RPCError(error)
        }
    }
}
