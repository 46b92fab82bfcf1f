// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Begins to log in on another device.
struct OAuthDevice: Method {
    static let name = "oauth.device"

    struct Params: JSONDecodable {
        var credential: CredentialName
        var scope: [String]?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let credential: CredentialName? = try fields.optional("credential")
            scope = try fields.optional("scope", as: ScopeParameter.self)?.words
            try fields.finish()
            self.credential = try JSONFields.need("credential", credential)
        }
    }

    /// What a person needs. The device code itself stays here.
    struct Result: JSONEncodable {
        var authorization: DeviceAuthorization

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("userCode", authorization.userCode)
                writer.member("verificationUri", authorization.verification)
                writer.member("verificationUriComplete", authorization.completeVerification)
                writer.name("expiresIn")
                writer.value(authorization.lifetime)
                writer.name("interval")
                writer.value(authorization.interval)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            return Result(
                authorization: try await call.scope.service.logins.device(
                    credential, scope: params.scope, recorder: call.scope.tokenRecorder))
        } catch {
            throw RPCError(error)
        }
    }
}
