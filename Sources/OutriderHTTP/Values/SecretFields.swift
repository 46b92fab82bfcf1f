// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The names whose values are never shown: of header fields, of parameters in a query or a form, of members in JSON.
package enum SecretFields {
    package static let mask = "***"

    /// Whether a field's value may hold a secret: the standard ones, and names that look like keys or tokens.
    package static func contains(_ name: String) -> Bool {
        let name = name.lowercased()
        if standard.contains(name) { return true }
        let bytes = Array(name.utf8)
        return telling.contains { holds(bytes, $0) }
    }

    /// The same for a parameter, whose name is often short: `?key=…&sig=…`.
    package static func containsParameter(_ name: String) -> Bool {
        contains(name) || short.contains(name.lowercased())
    }

    private static let standard: Set<String> = ["authorization", "cookie", "proxy-authorization", "set-cookie"]
    private static let short: Set<String> = ["auth", "key", "pass", "pwd", "sid", "sig"]

    private static func holds(_ name: [UInt8], _ word: [UInt8]) -> Bool {
        guard name.count >= word.count else { return false }
        return (0...(name.count - word.count)).contains { name[$0...].starts(with: word) }
    }

    private static let telling: [[UInt8]] = [
        "api-key", "apikey", "api_key", "assertion", "auth-token", "access-token", "authentication", "credential",
        "passwd", "password", "private-key", "private_key", "secret", "session-id", "session_id", "signature", "token",
        "x-auth",
    ].map { (word: String) in Array(word.utf8) }
}
