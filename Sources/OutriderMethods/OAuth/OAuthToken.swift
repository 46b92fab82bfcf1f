// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Gives a program that sends its own requests an access token.
struct OAuthToken: Method {
    static let name = "oauth.token"

    /// Seconds.
    static let timeouts = 0.1...600.0
    static let timeout = 60.0

    struct Params: JSONDecodable {
        var credential: CredentialName
        /// Seconds that it shall last.
        var minValidity: Double
        /// The token that a server has refused.
        var refused: Secret?
        var timeout: Double

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            minValidity = try fields.number("minValidity", in: 0...86400) ?? 60
            refused = try fields.optional("refused")
            timeout = try fields.number("timeout", in: OAuthToken.timeouts) ?? OAuthToken.timeout
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let credential = try await params.credential.resolved(call)
        do throws(HTTPFailure) {
            if let refused = params.refused {
                let used = AccessToken(refused, obtained: Clocks.now)
                let verdict = try await credential.retry(
                    used: used, isRefused: true, within: params.timeout, recorder: call.scope.tokenRecorder)
                if case .fail(let failure) = verdict { throw failure }
            }
            let (token, generation) = try await credential.token(
                for: .broker(minValidity: params.minValidity), within: params.timeout,
                recorder: call.scope.tokenRecorder)
            return ReplyMembers { writer in
                writer.member("accessToken", token.token.exposed)
                writer.member("tokenType", token.type)
                writer.member("expiresAt", token.expires.map { TimeShape($0.wallTime) })
                writer.member("scope", token.scope)
                writer.member("missingScope", token.listedMissingScope)
                writer.member("generation", Int(clamping: generation))
            }
        } catch {
            throw RPCError(noToken: error)
        }
    }
}
