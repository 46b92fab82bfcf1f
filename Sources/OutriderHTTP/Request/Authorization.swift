// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The authentication of a request: an Authorization field in short form, or a credential for challenges.
package indirect enum Authorization: Sendable, Equatable {
    /// RFC 7617, in UTF-8.
    case basic(username: String, password: String)
    /// RFC 6750 section 2.1.
    case bearer(String)
    /// The value, unchanged.
    case raw(String)
    /// Sent only after a challenge, with the strongest offered scheme; see AuthenticationMachine.
    case challenge(UserCredential)

    /// The value of the field; nil for `challenge`. Throws `createURLRequestFailed` with a pointer; the message never
    /// shows the secret.
    package func fieldValue() throws(HTTPFailure) -> String? {
        switch self {
        case .basic(let username, let password):
            if username.utf8.contains(UInt8(ascii: ":")) {
                throw Self.fault("username must not contain a colon, which ends it", "/auth/basic/username")
            }
            try Self.check(username, "username", "/auth/basic/username")
            try Self.check(password, "password", "/auth/basic/password")
            return UserCredential(username, password).basicValue
        case .bearer(let token):
            if token.isEmpty { throw Self.fault("bearer must not be empty", "/auth/bearer") }
            try Self.check(token, "bearer", "/auth/bearer")
            return "Bearer \(token)"
        case .raw(let value):
            if value.isEmpty { throw Self.fault("raw must not be empty", "/auth/raw") }
            try Self.check(value, "raw", "/auth/raw")
            return value
        case .challenge: return nil
        }
    }

    private static func check(_ text: String, _ name: String, _ pointer: String) throws(HTTPFailure) {
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            throw fault("\(name) contains a control character", pointer)
        }
    }

    private static func fault(_ message: String, _ pointer: String) -> HTTPFailure {
        HTTPFailure(.createURLRequestFailed, message, pointer: pointer)
    }
}
