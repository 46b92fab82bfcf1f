// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What the token endpoint is asked for (RFC 6749 section 4). Refresh token and client secret are added by the keeper.
package enum TokenRequest: Sendable, Equatable {
    /// With the refresh token that the store has.
    case refresh
    case clientCredentials
    /// RFC 6749 section 4.1.3, RFC 7636 section 4.5. The ID token that comes with it, if `nonce` is given, must name that
    /// nonce and be signed by one of `keys`, the issuer's JWK Set as it was written; else the tokens are not kept. `scope` is
    /// what the code was asked for with; it is not said again.
    case authorizationCode(
        code: Secret, verifier: Secret, redirect: String, nonce: String?, keys: String?, scope: [String])
    /// RFC 8628 section 3.4: one poll. `scope` as above.
    case deviceCode(Secret, scope: [String])
    /// RFC 7523 section 2.1: with the assertion that the store has.
    case jwtBearer

    /// One of many: a pause between them is what the server says, not a sign that it fails.
    package var isPoll: Bool { if case .deviceCode = self { true } else { false } }

    /// What a login has asked for; nil for what asks as its credential says.
    var scope: [String]? {
        switch self {
        case .authorizationCode(_, _, _, _, _, let scope), .deviceCode(_, let scope): scope
        case .refresh, .clientCredentials, .jwtBearer: nil
        }
    }
}
