// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The fields whose values are never shown.
package enum SecretFields {
    package static let mask = "***"

    /// Whether a field's value may hold a secret: the standard ones, and names that look like keys or tokens.
    package static func contains(_ name: String) -> Bool {
        let name = name.lowercased()
        if standard.contains(name) { return true }
        let bytes = Array(name.utf8)
        return telling.contains { holds(bytes, $0) }
    }

    private static let standard: Set<String> = ["authorization", "cookie", "proxy-authorization", "set-cookie"]

    private static func holds(_ name: [UInt8], _ word: [UInt8]) -> Bool {
        guard name.count >= word.count else { return false }
        return (0...(name.count - word.count)).contains { name[$0...].starts(with: word) }
    }

    private static let telling: [[UInt8]] = [
        "api-key", "apikey", "api_key", "auth-token", "access-token", "authentication", "credential", "passwd",
        "password",
        "private-key", "secret", "session-id", "signature", "token", "x-auth",
    ].map { (word: String) in Array(word.utf8) }
}
