// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tells of the entries of one URL.
struct CacheGet: Method {
    static let name = "cache.get"

    struct Params: JSONDecodable {
        var cache: CacheReference
        var url: HTTPURL

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            cache = try CacheReference(&fields)
            let text: String? = try fields.optional("url")
            try fields.finish()
            url = try CacheURL.required(text)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let store = try await params.cache.resolved(call)
        let key = CacheKey.text(params.url, ignoring: try params.cache.ignoredQuery(call))
        let entries = await store.entries(of: key)
        let principal = try params.cache.principal(call, in: store)
        let shapes = entries.map { CacheEntryShape(entry: $0, principal: principal, showsHeaders: true) }
        return ReplyMembers { $0.member("entries", shapes) }
    }
}
