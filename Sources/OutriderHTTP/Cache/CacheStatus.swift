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
        return items.prefix(most).compactMap { CacheStatus(Array($0)) }
    }

    private init?(_ member: [UInt8]) {
        let parts = CacheControlScanner.items(of: member, between: UInt8(ascii: ";"))
        guard let name = parts.first.map(Self.bare), !name.isEmpty else { return nil }
        cache = name.excerpt
        for part in parts.dropFirst() {
            let word = part.prefix { $0 != UInt8(ascii: "=") }
            let key = String(decoding: CacheControlScanner.trimmed(word), as: UTF8.self).lowercased()
            let value = word.count < part.count ? Self.bare(part.dropFirst(word.count &+ 1)) : nil
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

    /// A token as it stands, a string without its quotes and escapes (RFC 8941 section 3.3.3).
    private static func bare(_ bytes: ArraySlice<UInt8>) -> String {
        CacheControlScanner.text(of: CacheControlScanner.trimmed(bytes))
    }
}
