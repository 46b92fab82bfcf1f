// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Lists the credentials of this service and of the user's store.
struct OAuthList: Method {
    static let name = "oauth.list"

    static func call(_ params: NoParams, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let broker = call.scope.allCredentials
        let (listed, failure) = await broker.list()
        let all = listed.filter { call.scope.mayUse(credential: $0.spec.name) }
        // nothing is known, and nothing can be said
        if all.isEmpty, let failure { throw RPCError(failure) }
        let credentials = all.map { CredentialInfoShape($0) }
        return ReplyMembers { writer in
            writer.member("credentials", credentials)
            writer.member("error", failure.map(OAuthFailureShape.init))
        }
    }
}
