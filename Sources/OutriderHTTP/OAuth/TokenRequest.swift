// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A request to the token endpoint (RFC 6749 section 4). The helper adds refresh token and client secret.
package enum TokenRequest: Sendable, Equatable {
    /// With the refresh token in the store.
    case refresh
    case clientCredentials
    /// RFC 6749 section 4.1.3, RFC 7636 section 4.5. If `nonce` is given, the response must bring an ID token with that
    /// nonce, signed by one of `keys` (the issuer's JWK Set as received); otherwise the tokens are dropped. `scope` is
    /// the scope requested with the code; the token request does not repeat the scope.
    case authorizationCode(
        code: Secret, verifier: Secret, redirect: String, nonce: String?, keys: String?, scope: [String])
    /// RFC 8628 section 3.4: a single poll. `scope` as above.
    case deviceCode(Secret, scope: [String])
    /// RFC 7523 section 2.1: with the assertion in the store.
    case jwtBearer

    /// Whether the request is one of many polls: the server's pause between polls is then no failure.
    package var isPoll: Bool { if case .deviceCode = self { true } else { false } }

    /// A person has logged in, who may be another one than before.
    package var isLogin: Bool {
        switch self {
        case .authorizationCode, .deviceCode: true
        case .refresh, .clientCredentials, .jwtBearer: false
        }
    }

    /// No further request repeats the login.
    package var isSoleLogin: Bool { isLogin && !isPoll }

    /// The secrets of a login.
    var secrets: [Secret] {
        switch self {
        case .authorizationCode(let code, let verifier, _, _, _, _): [code, verifier]
        case .deviceCode(let code, _): [code]
        case .refresh, .clientCredentials, .jwtBearer: []
        }
    }

    /// The scope requested by a login; nil if the credential's scope applies.
    var scope: [String]? {
        switch self {
        case .authorizationCode(_, _, _, _, _, let scope), .deviceCode(_, let scope): scope
        case .refresh, .clientCredentials, .jwtBearer: nil
        }
    }
}
