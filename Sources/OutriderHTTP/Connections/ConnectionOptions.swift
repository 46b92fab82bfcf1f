// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What the head of a response says about the future of its connection.
struct ConnectionOptions {
    /// Whether the connection may carry another request (RFC 9112 section 9.3).
    private(set) var staysOpen: Bool
    /// Seconds for which the connection may lie idle, somewhat fewer than Keep-Alive promises (RFC 2068 section
    /// 19.7.1.1): a request on its way when the server closes would be lost. Nil without a promise.
    private(set) var idleSeconds: Double?

    init(_ head: ResponseHead) {
        staysOpen = head.version >= .http11
        var closes = false
        // Connection and Keep-Alive
        for field in head.fields.list where field.name.utf8.count == 10 {
            if HTTPFields.same(field.name, "Connection") {
                if field.value == "keep-alive" {
                    staysOpen = true
                    continue
                }
                for option in FieldRules.listed(field.value) {
                    if HTTPFields.same(option, "close") { closes = true }
                    if HTTPFields.same(option, "keep-alive") { staysOpen = true }
                }
            } else if HTTPFields.same(field.name, "Keep-Alive") {
                if let timeout = Self.number("timeout", in: field.value) {
                    idleSeconds = min(idleSeconds ?? .infinity, timeout - min(1, timeout / 4))
                    if timeout == 0 { closes = true }
                }
                // the number of requests that may follow
                if Self.number("max", in: field.value) == 0 { closes = true }
            }
        }
        if closes { staysOpen = false }
    }

    /// The whole number of a parameter; nil if absent or no number.
    private static func number(_ name: String, in value: String) -> Double? {
        for parameter in FieldRules.listed(value) {
            let parts = parameter.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, HTTPFields.same(String(FieldRules.trimmed(parts[0])), name) else { continue }
            let digits = FieldRules.trimmed(parts[1]).utf8.filter { $0 != UInt8(ascii: "\"") }
            return FieldRules.decimal(String(decoding: digits, as: UTF8.self)).map { Double($0) }
        }
        return nil
    }
}

extension ResponseHead {
    /// Whether the server ends a connection because no request has arrived in time (RFC 9110 section 15.5.9).
    package var endsIdleConnection: Bool {
        status == 408 && version.major == 1 && !ConnectionOptions(self).staysOpen
    }
}
