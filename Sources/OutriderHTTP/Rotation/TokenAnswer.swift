// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a token endpoint said (RFC 6749 sections 5.1 and 5.2), as far as it concerns us.
package struct TokenAnswer: Sendable, Equatable {
    package var accessToken: Secret?
    package var type: String?
    /// Seconds, at most ten years; nil if the server did not say, or said something without sense.
    package var expiresIn: Double?
    package var refreshToken: Secret?
    package var scope: [String]?
    package var idToken: Secret?
    /// One word.
    package var error: String?
    /// Seconds between polls (RFC 8628 section 3.2), at most an hour.
    package var interval: Double?

    package init() {}

    private static let longestLife = 315_360_000.0
    private static let longestInterval = 3600.0

    /// Takes one member; false for a value of a type that it cannot have.
    mutating func take(_ name: String, _ value: TokenAnswerScanner.Value) -> Bool {
        switch (name, value) {
        case (_, .null): break
        case ("access_token", .text(let text)) where !text.isEmpty: accessToken = Secret(text)
        case ("refresh_token", .text(let text)): refreshToken = text.isEmpty ? nil : Secret(text)
        case ("id_token", .text(let text)): idToken = Secret(text)
        case ("token_type", .text(let text)): type = text
        case ("scope", .text(let text)): scope = text.split(separator: " ").map(String.init)
        case ("error", .text(let text)): error = text
        case ("expires_in", .number(let number)), ("interval", .number(let number)): seconds(name, number)
        case ("expires_in", .text(let text)), ("interval", .text(let text)): seconds(name, Double(text) ?? 0)
        case ("access_token", _), ("refresh_token", _), ("id_token", _), ("token_type", _), ("error", _): return false
        default: break
        }
        return true
    }

    private mutating func seconds(_ name: String, _ number: Double) {
        guard number > 0 else { return }
        if name == "interval" {
            interval = min(number, Self.longestInterval)
        } else {
            expiresIn = min(number, Self.longestLife)
        }
    }

    /// The access token, as of the moment at which it was asked for.
    package func access(asked: ClockPair) -> AccessToken? {
        guard let accessToken else { return nil }
        let expires = expiresIn.map { ClockPair(wall: asked.wall + $0, boot: asked.boot + $0) }
        return AccessToken(accessToken, type: type ?? "Bearer", obtained: asked, expires: expires, scope: scope)
    }
}
