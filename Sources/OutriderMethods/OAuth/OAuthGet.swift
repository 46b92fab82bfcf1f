// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Tells how a credential stands.
struct OAuthGet: Method {
    static let name = "oauth.get"

    static func call(_ params: CredentialParams, _ call: Call<ClientScope>) async throws -> CredentialInfoShape {
        CredentialInfoShape(try await params.credential.resolved(call))
    }
}
