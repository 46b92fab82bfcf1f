// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How exchanges are shown: secret names hide their values (`Redaction`), and the secrets of fields, URLs and logins
/// are hidden wherever else they occur, such as in a path, or in the body of a server that echoes requests.
///
/// Values in bodies are no such secrets: `"password": "string"` is usual in descriptions of interfaces. Nor are short
/// cookies, whose values are often words.
package struct ShownMask: Sendable {
    /// Bytes of the shortest cookie that is hidden elsewhere, too.
    private static let shortestCookie = 16

    package let redaction: Redaction
    private var values = SecretValues()

    package init(_ redaction: Redaction) { self.redaction = redaction }

    /// Takes the secrets of exchanges: those of cookies last, since the number of secrets has a limit.
    package mutating func learn(_ all: [ExchangeFacts]) {
        guard redaction == .masked else { return }
        for facts in all { learn(facts) }
        for facts in all { learnCookies(facts) }
    }

    private mutating func learnCookies(_ facts: ExchangeFacts) {
        let (sent, received) = (facts.attempt?.fields ?? [], facts.head?.fields ?? [])
        var found = FoundSecrets()
        for cookie in ShownCookie.sent(sent) + ShownCookie.received(received) {
            found.add(cookie.value, shortest: Self.shortestCookie)
        }
        values.add(found)
    }

    private mutating func learn(_ facts: ExchangeFacts) {
        let names = CassetteMask()
        let (sent, received) = (facts.attempt?.fields ?? [], facts.head?.fields ?? [])
        let url = facts.attempt?.url.description ?? facts.url
        var found = names.secrets(of: ReplayRequest(method: facts.method, url: url, fields: Self.withoutCookies(sent)))
        if let login = facts.attempt?.login?.credential {
            found.add(username: login.username, password: login.password)
        }
        values.add(found)
        values.add(names.secrets(of: Self.withoutCookies(received), body: []))
        for hop in facts.redirects { values.add(names.secrets(of: ReplayRequest(method: "GET", url: hop.from))) }
    }

    private static func withoutCookies(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        fields.remove("Cookie")
        fields.remove("Set-Cookie")
        return fields
    }

    package func url(_ text: String) -> String { values.replaced(redaction.url(text)) }

    package func fields(_ fields: HTTPFields) -> HTTPFields {
        if values.isEmpty { return redaction.fields(fields) }
        return HTTPFields(fields.list.map { HTTPFields.Field($0.name, values.replaced(redaction.value(of: $0))) })
    }

    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        let masked = redaction.body(bytes, contentType: contentType)
        return values.replaced(masked) ?? masked
    }

    /// A text in which only known values are hidden.
    package func text(_ text: String) -> String { values.replaced(text) }
}
