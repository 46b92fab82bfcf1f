// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The fields whose values are never shown.
package enum SecretFields {
    package static let mask = "***"

    /// Whether a field's value may hold a secret: the standard ones, and names that look like keys or tokens.
    package static func contains(_ name: String) -> Bool {
        let name = name.lowercased()
        if standard.contains(name) { return true }
        return telling.contains { name.contains($0) }
    }

    private static let standard: Set<String> = ["authorization", "cookie", "proxy-authorization", "set-cookie"]

    private static let telling = [
        "api-key", "apikey", "api_key", "auth-token", "access-token", "authentication", "credential", "passwd",
        "password",
        "private-key", "secret", "session-id", "signature", "token", "x-auth",
    ]
}
