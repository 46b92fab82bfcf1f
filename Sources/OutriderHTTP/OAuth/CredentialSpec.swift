// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The public part of a credential: identity, grant, and permitted use of the tokens. No secrets.
package struct CredentialSpec: Sendable, Equatable {
    /// The source of the tokens.
    package enum Grant: String, Sendable, CaseIterable {
        /// RFC 6749 section 6: the client brings the first tokens.
        case refresh
        /// RFC 6749 section 4.4.
        case clientCredentials
        /// RFC 6749 section 4.1 with RFC 7636.
        case authorizationCode
        /// RFC 8628.
        case device
        /// RFC 7523 section 2.1.
        case jwtBearer
        /// The client's callback supplies the tokens.
        case callback
    }

    /// What happens to the tokens once a refresh fails permanently.
    package enum OnFailure: String, Sendable, CaseIterable { case keep, clear, reauthorize }

    /// The place of the tokens.
    package enum Persistence: String, Sendable, CaseIterable {
        /// Until the service ends, and for this process alone.
        case memory
        /// In the user's store, for all programs.
        case disk
    }

    /// A setting that may change while the tokens stay.
    package enum Setting: String, Sendable, CaseIterable {
        case scope, parameters, origins, window, refreshBefore, refreshStatuses, holds, onFailure
    }

    /// Between 1 and 128 characters, unique for the user in the store, or in the service if kept in memory.
    package var name: String
    /// Compared character by character (RFC 8414 section 3.3).
    package var issuer: String?
    package var clientID: String
    package var authentication: ClientAuthentication
    package var endpoints: OAuthEndpoints
    package var scope: [String]
    /// Sent wherever the scope is, such as `audience`.
    package var parameters: [OAuthParameter]
    /// RFC 8707: tokens for a resource are never sent to another. Absolute URIs, sent and compared as written.
    package var resources: [String]
    package var grant: Grant
    /// The origins to which the access token may be sent; if empty, the service sends the token nowhere by itself.
    package var origins: [HTTPURL]
    package var window: RefreshWindow?
    /// A token is refreshed before use from this many seconds before expiry on.
    package var refreshBefore: Double
    /// The statuses of responses that refuse the token.
    package var refreshStatuses: [Int]
    /// New requests wait also during a refresh after a refused token.
    package var holds: Bool
    package var onFailure: OnFailure
    package var persistence: Persistence

    package init(name: String, clientID: String, endpoints: OAuthEndpoints, grant: Grant) {
        self.name = name
        self.clientID = clientID
        self.endpoints = endpoints
        self.grant = grant
        issuer = nil
        authentication = .none
        scope = []
        parameters = []
        resources = []
        origins = []
        window = RefreshWindow()
        refreshBefore = 300
        refreshStatuses = [401]
        holds = false
        onFailure = .keep
        persistence = .memory
    }

    /// Takes the given settings from another spec.
    package mutating func take(_ settings: [Setting], of other: CredentialSpec) {
        for setting in settings {
            switch setting {
            case .scope: scope = other.scope
            case .parameters: parameters = other.parameters
            case .origins: origins = other.origins
            case .window: window = other.window
            case .refreshBefore: refreshBefore = other.refreshBefore
            case .refreshStatuses: refreshStatuses = other.refreshStatuses
            case .holds: holds = other.holds
            case .onFailure: onFailure = other.onFailure
            }
        }
    }
}

/// How the client authenticates at the token endpoint: RFC 6749 section 2.3, RFC 7523 section 2.2, RFC 8705 section 2.
package enum ClientAuthentication: Sendable, Equatable {
    case none, basic, body
    case privateKeyJWT(file: String, algorithm: String, keyID: String?)
    /// PEM files; the key may be in the file of the certificate.
    case certificate(file: String, key: String)
}

/// A parameter that some servers want and no standard has. No secret.
package struct OAuthParameter: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Whether requests have a parameter of that name from elsewhere.
    package static func isReserved(_ name: String) -> Bool { isOfLogin(name) || ofForms.contains(name) }

    /// Whether the URL of a login has a parameter of that name from elsewhere.
    static func isOfLogin(_ name: String) -> Bool { ofLogins.contains(name) }

    private static let ofLogins: Set<String> = [
        "client_id", "client_secret", "code_challenge", "code_challenge_method", "nonce", "redirect_uri", "request",
        "request_uri", "resource", "response_mode", "response_type", "scope", "state",
    ]
    private static let ofForms: Set<String> = [
        "assertion", "client_assertion", "client_assertion_type", "code", "code_verifier", "device_code", "grant_type",
        "refresh_token",
    ]
}

/// The endpoints of an authorization server (RFC 8414 section 2).
package struct OAuthEndpoints: Sendable, Equatable {
    package var token: HTTPURL
    package var authorization: HTTPURL?
    package var device: HTTPURL?
    package var revocation: HTTPURL?
    package var introspection: HTTPURL?
    package var keys: HTTPURL?

    package init(token: HTTPURL) { self.token = token }
}

/// The most refreshes within an interval.
package struct RefreshWindow: Sendable, Equatable {
    /// Seconds.
    package var interval: Double
    package var maximumAttempts: Int

    package init(interval: Double = 30, maximumAttempts: Int = 5) {
        self.interval = interval
        self.maximumAttempts = maximumAttempts
    }
}

/// The secrets of a credential. The service sends these secrets only to its helper.
package struct CredentialSecrets: Sendable, Equatable {
    package var clientSecret: Secret?
    package var refreshToken: Secret?
    /// The assertion of RFC 7523 section 2.1, if the client supplies its own.
    package var assertion: Secret?

    package init(clientSecret: Secret? = nil, refreshToken: Secret? = nil, assertion: Secret? = nil) {
        self.clientSecret = clientSecret
        self.refreshToken = refreshToken
        self.assertion = assertion
    }

    /// The same secrets with a mask in place of each.
    package var masked: CredentialSecrets {
        let mask = Secret(SecretFields.mask)
        return CredentialSecrets(
            clientSecret: clientSecret.map { _ in mask }, refreshToken: refreshToken.map { _ in mask },
            assertion: assertion.map { _ in mask })
    }
}
