// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Removes entries of a cache.
struct CacheDelete: Method {
    static let name = "cache.delete"

    struct Params: JSONDecodable {
        enum Selection {
            case url(HTTPURL)
            case tag(String)
            case purge(CachePurge)
        }

        var cache: CacheReference
        var selection: Selection

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            cache = try CacheReference(&fields)
            let given = fields.present(["url", "prefix", "tag", "olderThan", "all"])
            let url: String? = try fields.optional("url")
            let prefix: String? = try fields.optional("prefix")
            let tag: String? = try fields.optional("tag")
            let seconds = try fields.integer("olderThan", in: 0...315_360_000)
            let all: Bool? = try fields.optional("all")
            try fields.finish()
            guard given.count == 1 else {
                throw JSONComplaint("exactly one of url, prefix, tag, olderThan and all says what is removed")
            }
            if all == false { throw JSONComplaint("must be true", at: JSONPointer(member: "all")) }
            if let url {
                selection = .url(try CacheURL.parse(url))
            } else if let prefix {
                selection = .purge(.prefix(prefix))
            } else if let tag {
                selection = .tag(tag)
            } else if let seconds {
                // safe: Int is not wider
                selection = .purge(.storedBefore(CacheClock.now &- Int64(seconds) &* 1000))
            } else {
                selection = .purge(.all)
            }
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        let store = try await params.cache.resolved(call)
        if case .purge(let purge) = params.selection {
            let count = await store.remove(purge)
            return ReplyMembers { $0.member("deleted", count) }
        }
        let before = await store.usedNow().entries
        switch params.selection {
        case .url(let url):
            let ignored = try params.cache.ignoredQuery(call)
            store.remove(url: CacheKey.text(url))
            if !ignored.isEmpty { store.remove(url: CacheKey.text(url, ignoring: ignored)) }
        case .tag(let tag): store.remove(tag: tag)
        case .purge: break
        }
        let count = max(0, before &- (await store.usedNow().entries))
        return ReplyMembers { $0.member("deleted", count) }
    }
}
