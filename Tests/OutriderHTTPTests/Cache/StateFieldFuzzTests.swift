// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Testing

/// Damaged Set-Cookie and Cache-Control fields. `OUTRIDER_FUZZ` names their number; the usual one keeps the tests quick.
struct StateFieldFuzzTests {
    private static let rounds = getenv("OUTRIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 4000
    private static let now: Int64 = 1_700_000_000_000_000

    /// `#expect` costs more than a round.
    private static func expect(_ holds: Bool, _ field: String) {
        if !holds { Issue.record("\(field.debugDescription)") }
    }

    @Test func `no field of cookies breaks the jar or reaches another site`() throws {
        let suffixes = PublicSuffixes.builtIn
        let samples = [
            "a=b", "sid=\"x, y\"; Path=/a/b; Secure; HttpOnly; SameSite=None; Partitioned",
            "__Host-a=1; Path=/; Secure", "__Secure-b=2; Domain=.example.com; Max-Age=100",
            "c=3; Expires=Wed, 21 Oct 2037 07:28:00 GMT; Domain=www.example.com", "d=4; Max-Age=-1", "e=5; Domain=com",
        ]
        func request(_ scheme: HTTPURL.Scheme, _ host: String) throws -> CookieRequest {
            try #require(CookieRequest(HTTPURL(scheme: scheme, host: host, port: 80, target: "/a/b?c"), suffixes))
        }
        let senders = [
            try request(.https, "www.example.com"), try request(.http, "example.com"), try request(.https, "a.co.uk"),
        ]
        let stranger = try request(.https, "other.test")
        var jar = CookieJar()
        var number: Int64 = 0
        for field in Mutations(of: samples, count: Self.rounds, seed: 6265, spice: "=;, \"aZ09.-/_%") {
            number += 1
            let sender = senders[Int(number % 3)]
            _ = jar.take([FieldText(field)], from: sender, suffixes, now: Self.now &+ number)
            // a jar that grows costs more with each round, and shows no more
            guard number % 64 == 0 else { continue }
            let chosen = jar.choose(for: sender, now: Self.now &+ number)
            let text = chosen.field ?? ""
            Self.expect(text.utf8.count <= 32 << 10 && text.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x09 }, field)
            Self.expect(chosen.cookies.allSatisfy { !$0.isSecure || sender.isSecure }, field)
            Self.expect(jar.choose(for: stranger, now: Self.now &+ number).cookies.isEmpty, field)
            Self.expect(jar.count <= 360, field)
        }
    }

    @Test func `no field of caches leads beyond the limits`() {
        let samples = [
            ("Cache-Control", "max-age=60, stale-while-revalidate=30, stale-if-error=\"90\", no-cache=\"a, b\""),
            ("Cache-Control", "public, s-maxage=9999999999999999999, must-understand, no-store, immutable"),
            ("Expires", "Wed, 21 Oct 2037 07:28:00 GMT"), ("Age", "17, 4"), ("Date", "Tue, 14 Nov 2023 22:13:20 GMT"),
            ("Vary", "Accept-Language, X-A,,*"), ("Content-Range", "bytes 0-99/9223372036854775807"),
            ("Cache-Status", "a; hit; ttl=3, \"b c\"; fwd=stale; fwd-status=304; key=\"x\\\"y\""),
            ("Cache-Groups", "\"a\", \"b\";x=1"),
        ]
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/x")
        let query = CacheQuery(Attempt(method: "GET", url: url, fields: []), CacheSpec())
        let moment = Self.now / 1000
        for (index, sample) in samples.enumerated() {
            let spice = "=,; \"\\09-amx*:"
            let count = Self.rounds / samples.count
            for text in Mutations(of: [sample.1], count: count, seed: 9111 &+ UInt64(index), spice: spice) {
                let fields = HTTPFields([HTTPFields.Field(sample.0, text), HTTPFields.Field("ETag", "\"v\"")])
                let head = CachedHead(
                    status: 200, reason: "", version: "1.1", fields, requestedAt: moment - 5, respondedAt: moment)
                let (age, life) = (head.freshness.age(at: moment + 1000), head.freshness.lifetime)
                Self.expect((0...(1 << 32)).contains(age) && (0...(1 << 31)).contains(life), text)
                _ = StoreDecision.decide(query, status: 200, fields, isShared: true, isForAll: true)
                _ = CacheStatus.parse(fields)
                _ = CacheGroups.names(fields.all("Cache-Groups"), of: url)
                _ = CacheKey.variant(["accept-language"], of: [HTTPFields.Field("Accept-Language", text)])
            }
        }
    }
}
