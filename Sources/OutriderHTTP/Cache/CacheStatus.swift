// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One member of a Cache-Status field (RFC 9211 section 2).
package struct CacheStatus: Sendable, Equatable {
    package var cache: String
    package var isHit = false
    package var forward: String?
    package var timeToLive: Int64?
    package var isStored = false
    package var detail: String?

    private static let most = 16

    /// The caches on the way, from the origin on. Members that make no sense are left out.
    package static func parse(_ fields: HTTPFields) -> [CacheStatus] {
        let items = fields.all("Cache-Status").flatMap { CacheControlScanner.items(of: Array($0.utf8)) }
        return items.prefix(most).compactMap { CacheStatus(String(decoding: $0, as: UTF8.self)) }
    }

    private init?(_ text: String) {
        let parts = text.split(separator: ";").map { FieldRules.trimmed($0) }
        guard let name = parts.first.map({ Self.bare($0) }), !name.isEmpty else { return nil }
        cache = name.excerpt
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1).map { FieldRules.trimmed($0) }
            guard let key = halves.first?.lowercased() else { continue }
            let value = halves.dropFirst().first.map { Self.bare($0) }
            switch key {
            case "hit": isHit = value != "?0"
            case "fwd": forward = value?.excerpt
            case "ttl": timeToLive = value.flatMap { Int64($0) }
            case "stored": isStored = value != "?0"
            case "detail": detail = value?.excerpt
            default: break
            }
        }
    }

    private static func bare(_ text: Substring) -> String {
        guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return String(text) }
        return String(text.dropFirst().dropLast())
    }
}
