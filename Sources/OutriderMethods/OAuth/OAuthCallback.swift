// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Takes the response of a login that did not come to a listener.
struct OAuthCallback: Method {
    static let name = "oauth.callback"

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Where the browser was sent back to, with query or fragment.
        var url: Secret

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            let url: Secret? = try fields.optional("url")
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
            self.url = try JSONFields.need("url", url)
            guard self.url.count <= 1 << 16, self.url.withBytes({ $0.contains { "?#".utf8.contains($0) } }) else {
                throw JSONComplaint(
                    "url must be the whole URL that the browser was sent to, with the part after ? or #",
                    at: JSONPointer(member: "url"))
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            return CredentialInfoShape(
                try await call.scope.service.logins.callback(
                    credential, params.url.exposed, recorder: call.scope.tokenRecorder))
        } catch {
            try Task.checkCancellation()
            throw RPCError(error)
        }
    }
}
