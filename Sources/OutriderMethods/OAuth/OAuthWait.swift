// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Waits for the end of a login.
struct OAuthWait: Method {
    static let name = "oauth.wait"

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Seconds; as long as the login may take, if absent.
        var timeout: Double?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            timeout = try fields.number("timeout", in: 0...86400)
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let credential = try await params.credential.resolved(call)
        let logins = call.scope.service.logins
        let ending = await logins.ending(of: credential.name, within: params.timeout)
        try Task.checkCancellation()
        let info = CredentialInfoShape(credential.snapshot)
        let isPending = ending == nil && logins.isUnderWay(credential.name)
        let failure: OAuthFailure? = if case .failure(let failure) = ending { failure } else { nil }
        return ReplyMembers { writer in
            writer.member("ok", !isPending && failure == nil)
            writer.member("pending", isPending)
            writer.member("credential", info)
            writer.member("error", failure.map(OAuthFailureShape.init))
        }
    }
}
