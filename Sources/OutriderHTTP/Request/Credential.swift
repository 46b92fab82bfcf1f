// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An Authorization field, and the origins that may receive it.
package struct Credential: Sendable, Equatable {
    private let value: String
    /// Nil for the origin of the request's original URL.
    package let origins: [HTTPURL]?

    private init(_ value: String, _ origins: [HTTPURL]?) {
        self.value = value
        self.origins = origins
    }

    /// RFC 7617, in UTF-8.
    package static func basic(user: String, password: String, origins: [HTTPURL]? = nil) -> Credential {
        Credential(UserCredential(user, password).basicValue, origins)
    }

    /// RFC 6750. Throws `createURLRequestFailed` for a token that no field can hold.
    package static func bearer(_ token: String, origins: [HTTPURL]? = nil) throws(HTTPFailure) -> Credential {
        let field = HTTPFields.Field(Self.name, "Bearer \(token)")
        try FieldCheck.check([field])
        return Credential(field.value, origins)
    }

    /// RFC 6749 section 7.1: by its type. Throws `createURLRequestFailed` for a token that no field can hold.
    package static func token(_ token: AccessToken, origins: [HTTPURL]) throws(HTTPFailure) -> Credential {
        let scheme = HTTPFields.same(token.type, "Bearer") ? "Bearer" : token.type
        let field = HTTPFields.Field(Self.name, "\(scheme) \(token.token.exposed)")
        try FieldCheck.check([field])
        return Credential(field.value, origins)
    }

    private static let name = "Authorization"

    private func mayKnow(_ url: HTTPURL, home: HTTPURL) -> Bool { Self.mayKnow(url, home: home, origins: origins) }

    /// Whether a credential for these origins may be sent to a URL.
    ///
    /// - Parameters:
    ///   - home: the request's original URL.
    ///   - origins: nil for the origin of `home`.
    package static func mayKnow(_ url: HTTPURL, home: HTTPURL, origins: [HTTPURL]?) -> Bool {
        guard let origins else { return url.isSameOrigin(as: home) }
        return origins.contains { url.isSameOrigin(as: $0) }
    }

    /// Whether the attempt carries this credential.
    package func isIn(_ attempt: Attempt) -> Bool {
        attempt.fields.list.contains { $0.value == value && HTTPFields.same($0.name, Self.name) }
    }

    /// Sets the credential if the URL's origin may know it, in place of any other Authorization.
    package func apply(to attempt: inout Attempt, home: HTTPURL) {
        if mayKnow(attempt.url, home: home) { attempt.fields.set(Self.name, value) }
    }

    /// Removes the credential if the attempt's origin may not know it.
    package func withhold(from attempt: inout Attempt, home: HTTPURL) {
        guard !mayKnow(attempt.url, home: home) else { return }
        attempt.fields.list.removeAll { $0.value == value && HTTPFields.same($0.name, Self.name) }
    }
}
