// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// A jar with a clock of its own, asked by URL.
struct CookieStage {
    static let suffixes = PublicSuffixes.builtIn

    var jar = CookieJar()
    /// Seconds since 1970.
    var now: Int64 = 1_700_000_000

    var time: Int64 { now * Cookie.second }

    static func request(_ url: String, site: String? = nil, isNavigation: Bool = false) throws -> CookieRequest {
        var request = try #require(CookieRequest(try HTTPURL(parsing: url), suffixes))
        if let site {
            request.context = try #require(CookieRequest(try HTTPURL(parsing: site), suffixes)).schemefulSite
        }
        request.sendsLax = isNavigation
        return request
    }

    @discardableResult
    mutating func set(_ url: String, _ fields: String..., site: String? = nil) throws -> [CookieChange] {
        jar.take(fields.map { FieldText($0) }, from: try Self.request(url, site: site), Self.suffixes, now: time)
    }

    mutating func get(_ url: String, site: String? = nil, isNavigation: Bool = false) throws -> String? {
        jar.choose(for: try Self.request(url, site: site, isNavigation: isNavigation), now: time).field
    }
}
