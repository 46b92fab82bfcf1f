// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The relevant members of a token endpoint response (RFC 6749 sections 5.1 and 5.2).
package struct TokenResponse: Sendable, Equatable {
    package var accessToken: Secret?
    package var type: String?
    /// Seconds, at most ten years; nil if absent or malformed.
    package var expiresIn: Double?
    package var refreshToken: Secret?
    package var scope: [String]?
    package var idToken: Secret?
    /// A single word.
    package var error: String?
    /// The server's explanation of the error for developers: may hold anything, also secrets.
    package var errorDescription: String?
    /// The text that some servers send in place of both.
    package var message: String?
    /// Seconds between polls (RFC 8628 section 3.2), at most an hour.
    package var interval: Double?
    /// The first present but unusable member.
    package var fault: String?

    package init() {}

    /// The value of a member.
    enum Value: Equatable {
        case text(String), number(Double), null, other
        /// A text with invalid characters.
        case unreadable
    }

    private static let longestLife = 315_360_000.0
    private static let longestInterval = 3600.0
    private static let longestType = 64
    /// Words of Slack for whose token it is, and not how it is sent.
    private static let aliases: Set = ["bot", "user"]

    /// The members that are read. All others are ignored, whatever their value.
    static let members: Set = [
        "access_token", "refresh_token", "id_token", "token_type", "scope", "error", "error_description", "expires_in",
        "interval", "message",
    ]

    /// Takes a member; false if the value has a wrong type.
    mutating func take(_ name: String, _ value: Value) -> Bool {
        switch (name, value) {
        case (_, .null): break
        case ("access_token", .text(let text)): accessToken = secret(name, text)
        case ("refresh_token", .text(let text)): refreshToken = secret(name, text)
        case ("id_token", .text(let text)): idToken = Secret(text)
        case ("token_type", .text(let text)): take(type: text)
        case ("scope", .text(let text)): scope = text.split(separator: " ").map(String.init)
        // an empty or false error means no error
        case ("error", .text(let text)): error = text.isEmpty ? nil : text
        case ("error", .unreadable): error = "unknown"
        case ("error_description", .text(let text)): errorDescription = text
        case ("message", .text(let text)): message = text
        case ("expires_in", .number(let number)), ("interval", .number(let number)): seconds(name, number)
        case ("expires_in", .text(let text)), ("interval", .text(let text)): seconds(name, Double(text) ?? 0)
        case ("access_token", .unreadable), ("refresh_token", .unreadable), ("token_type", .unreadable): spoil(name)
        case ("access_token", _), ("refresh_token", _), ("token_type", _): return false
        default: break
        }
        return true
    }

    /// The members of a form, in which older servers put their tokens. Nil for a text of another kind, and if two
    /// parsers could choose different values.
    init?(form body: [UInt8]) {
        let text = body.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
        guard text.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>{}".utf8.contains($0) }) else { return nil }
        let form = FormText(String(decoding: text, as: UTF8.self))
        for name in Self.members where name != "message" {
            var values = form.all(name)
            if name == "expires_in", values.isEmpty { values = form.all("expires") }
            guard values.count < 2 else { return nil }
            if let value = values.first { _ = take(name, .text(value)) }
        }
        if accessToken == nil, error == nil, fault == nil { return nil }
    }

    /// Of the characters that tokens have (RFC 6749 appendixes A.12 and A.17): with others they would be something else
    /// where they are written into a line.
    private mutating func secret(_ name: String, _ text: String) -> Secret? {
        if text.isEmpty { return nil }
        guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            spoil(name)
            return nil
        }
        return Secret(text)
    }

    /// The authentication scheme for the token (RFC 9110 section 11.1).
    private mutating func take(type text: String) {
        guard text.utf8.count <= Self.longestType, text.utf8.allSatisfy(FieldRules.isTokenByte) else {
            return spoil("token_type")
        }
        type = text.isEmpty ? nil : text
    }

    private mutating func spoil(_ name: String) { fault = fault ?? name }

    private mutating func seconds(_ name: String, _ number: Double) {
        guard number > 0 else { return }
        if name == "interval" {
            interval = min(number, Self.longestInterval)
        } else {
            expiresIn = min(number, Self.longestLife)
        }
    }

    /// The access token; its lifetime counts from the request.
    package func access(sentAt: ClockPair) -> AccessToken? {
        guard let accessToken else { return nil }
        let expires = expiresIn.map { ClockPair(wall: sentAt.wall + $0, boot: sentAt.boot + $0) }
        let scheme = type.map { Self.aliases.contains($0.lowercased()) ? "Bearer" : $0 } ?? "Bearer"
        return AccessToken(accessToken, type: scheme, obtained: sentAt, expires: expires, scope: scope)
    }
}
