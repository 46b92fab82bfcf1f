// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Reads a stored body.
struct CacheRead: Method {
    static let name = "cache.read"

    struct Params: JSONDecodable {
        var cache: CacheReference
        var url: HTTPURL
        var offset: Int
        var length: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            cache = try CacheReference(&fields)
            let text: String? = try fields.optional("url")
            offset = try fields.integer("offset", in: 0...9_007_199_254_740_992) ?? 0
            length = try fields.integer("length", in: 1...1_048_576) ?? 65_536
            try fields.finish()
            url = try CacheURL.required(text)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let store = try await params.cache.resolved(call)
        let key = CacheKey.text(params.url, ignoring: try params.cache.ignoredQuery(call))
        let entries = await store.entries(of: key)
        let principal = try params.cache.principal(call, in: store)
        // an entry that belongs to credentials is theirs
        let open = entries.filter { $0.id.principal == principal }
        guard let entry = open.max(by: { $0.storedAt < $1.storedAt }) else { throw CacheURL.missing }
        let start = min(params.offset, entry.body.size)
        let range = start..<min(start &+ params.length, entry.body.size)
        guard let bytes = await store.bytes(of: entry, range) else { throw CacheURL.missing }
        return ReplyMembers { writer in
            bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
            writer.member("size", entry.body.size)
            writer.member("end", range.upperBound == entry.body.size)
        }
    }
}
