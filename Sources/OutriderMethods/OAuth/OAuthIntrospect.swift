// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Asks the server what the access token of a credential is worth.
struct OAuthIntrospect: Method {
    static let name = "oauth.introspect"

    struct Result: JSONEncodable {
        var response: IntrospectionResponse

        func encode(to writer: inout JSONWriter) {
            writer.object { writer in
                writer.member("active", response.isActive)
                writer.member("answer", JSONValue.object(response.document))
            }
        }
    }

    static func call(_ params: CredentialParams, _ call: Call<ClientScope>) async throws -> Result {
        let credential = try await params.credential.resolved(call)
        do throws(OAuthFailure) {
            return Result(
                response: try await call.scope.service.logins.introspect(
                    credential, recorder: call.scope.tokenRecorder))
        } catch {
            throw RPCError(error)
        }
    }
}
