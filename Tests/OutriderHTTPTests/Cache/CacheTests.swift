// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// A response that came at this moment, unless it says otherwise.
private let arrival: Int64 = 1_700_000_000_000

private func head(_ fields: [(String, String)], status: Int = 200, delay: Int64 = 0) -> CachedHead {
    CachedHead(
        status: status, reason: "", version: "1.1", HTTPFields(fields.map { HTTPFields.Field($0.0, $0.1) }),
        requestedAt: arrival - delay, respondedAt: arrival)
}

private func date(_ seconds: Int64) -> String { HTTPDate.format(arrival / 1000 + seconds) ?? "" }

private func query(
    _ fields: [(String, String)] = [], method: String = "GET", _ change: (inout CacheSpec) -> Void = { _ in }
) -> CacheQuery {
    let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/x?a=1&b=2")
    let sent = HTTPFields(fields.map { HTTPFields.Field($0.0, $0.1) })
    var spec = CacheSpec()
    change(&spec)
    return CacheQuery(Attempt(method: method, url: url, fields: sent), spec)
}

struct FreshnessTests {
    @Test(
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=0060", 60), ("max-age=1.5", 0),
            ("max-age=a1", 0), ("max-age=60, max-age=10", 10), ("x=\"max-age=9, y\", max-age=60", 60),
            ("max-age=99999999999999999999", 1 << 31), ("s-maxage=9", 0), ("no-store", 0), (",,", 0), ("max-age=", 0),
        ] as [(String, Int64)])
    func `a lifetime is read from Cache-Control`(line: String, lifetime: Int64) {
        #expect(head([("Cache-Control", line)]).freshness.lifetime == lifetime)
    }

    @Test func `Expires counts from Date, and a broken one is past`() {
        #expect(head([("Date", date(-10)), ("Expires", date(50))]).freshness.lifetime == 60)
        #expect(head([("Expires", date(50))]).freshness.lifetime == 50)
        #expect(head([("Expires", "0"), ("Last-Modified", date(-1000))]).freshness.lifetime == 0)
        #expect(head([("Expires", date(50).lowercased())]).freshness.lifetime == 50)
        #expect(head([("Expires", date(50)), ("Cache-Control", "max-age=5")]).freshness.lifetime == 5)
    }

    @Test(arguments: [(200, 100), (404, 100), (502, 0), (302, 0)] as [(Int, Int64)])
    func `without a lifetime it is a tenth of the time since the last change`(status: Int, lifetime: Int64) {
        #expect(head([("Last-Modified", date(-1000))], status: status).freshness.lifetime == lifetime)
        let old = [("Last-Modified", date(-100_000_000))]
        #expect(head(old, status: status).freshness.lifetime == (lifetime > 0 ? 604_800 : 0))
    }

    @Test(
        arguments: [
            (200, "private", 60), (404, "private", 60), (500, "private", 0), (403, "private", 0), (302, "private", 0),
            (302, "public", 60), (500, "max-age=5", 5),
        ] as [(Int, String, Int64)])
    func `the cache gives a lifetime to responses of which it may guess one`(
        status: Int, line: String, lifetime: Int64
    ) {
        let fields: HTTPFields = [.init("Cache-Control", line)]
        let fresh = Freshness(status: status, fields, requestedAt: arrival, respondedAt: arrival, fallback: 60)
        #expect(fresh.lifetime == lifetime)
    }

    @Test(
        arguments: [
            (#"max-age=60, x="a, no-store"#, true), (#"max-age=60, x="a\", no-store"#, true),
            (#"max-age=60, x="a, no-store""#, false), (#"x="a", no-store, y=""#, true),
        ])
    func `a quote that does not end hides no directive`(line: String, isNoStore: Bool) {
        let control = CacheControl([.init("Cache-Control", line)])
        #expect(control.isNoStore == isNoStore)
    }

    @Test func `a line with too many directives counts as no-store`() {
        let words = (0..<63).map { "x\($0)" }.joined(separator: ", ")
        #expect(!head([("Cache-Control", "max-age=60, \(words),")]).freshness.control.isNoStore)
        #expect(head([("Cache-Control", "max-age=60, \(words), private")]).freshness.control.isNoStore)
    }

    @Test func `texts of other caches may contain separators and escapes`() {
        let line = #""edge;eu"; fwd=stale; ttl=-5; detail="a; hit; \"b\"", other ;hit"#
        let found = CacheStatus.parse([.init("Cache-Status", line)])
        #expect(found.map(\.cache) == ["edge;eu", "other"])
        #expect(found.map(\.isHit) == [false, true])
        #expect(found.first?.forward == "stale" && found.first?.timeToLive == -5)
        #expect(found.first?.detail == #"a; hit; "b""#)
    }

    @Test(
        arguments: [
            ([("Age", "7")], 8), ([("Age", "7, 9")], 8), ([("Age", "old, 9")], 1), ([("Age", "-7")], 1),
            ([("Age", "7x")], 1),
            ([("Date", date(-30)), ("Age", "7")], 30), ([("Date", date(30))], 1), ([], 1),
        ] as [([(String, String)], Int64)])
    func `a response is as old as it says, or as its date shows`(fields: [(String, String)], age: Int64) {
        #expect(head(fields, delay: 1000).freshness.age(at: arrival) == age)
        #expect(head(fields, delay: 1000).freshness.age(at: arrival + 5999) == age + 5)
    }

    @Test func `a clock that goes back makes a response stale`() {
        let stored = head([("Cache-Control", "max-age=600")])
        #expect(stored.isFresh(at: arrival - 1000))
        #expect(!stored.isFresh(at: arrival - 10_000))
        #expect(!stored.isFresh(at: arrival + 600_000))
    }
}

struct CachePolicyTests {
    private static let fresh = [("Cache-Control", "max-age=600"), ("ETag", "\"v\"")]

    private func verdict(
        _ query: CacheQuery, _ fields: [(String, String)], after seconds: Int64 = 1, size: Int = 10
    ) -> String {
        let stored = head(fields)
        switch CachePolicy.decide(query, stored, size: size, hasVariants: true, now: arrival + seconds * 1000) {
        case .use(let use): return use.isStale ? "stale" : "hit"
        case .useAndRefresh: return "updating"
        case .revalidate(let conditions, _, _): return "ask " + conditions.list.map(\.name).joined(separator: " ")
        case .fetch(let forward, _): return "fetch \(forward.rawValue)"
        case .refuse(_, let isDirective): return isDirective ? "refuse 504" : "refuse"
        }
    }

    @Test(
        arguments: [
            (.default, 1, "hit"), (.default, 700, "ask If-None-Match"), (.reload, 1, "fetch request"),
            (.noCache, 1, "ask If-None-Match"), (.forceCache, 700, "stale"), (.onlyIfCached, 700, "stale"),
            (.noStore, 1, "fetch bypass"),
        ] as [(CacheSpec.Mode, Int64, String)])
    func `each mode uses a stored response in its way`(mode: CacheSpec.Mode, seconds: Int64, found: String) {
        #expect(verdict(query { $0.mode = mode }, Self.fresh, after: seconds) == found)
    }

    @Test(
        arguments: [
            ("no-cache", 1, "ask If-None-Match"), ("max-age=0", 1, "ask If-None-Match"), ("max-age=5", 1, "hit"),
            ("min-fresh=1000", 1, "ask If-None-Match"), ("max-stale", 700, "stale"),
            ("max-stale=50", 700, "ask If-None-Match"),
            ("max-stale=500", 700, "stale"), ("only-if-cached", 1, "hit"), ("only-if-cached", 700, "refuse 504"),
            ("no-store", 1, "hit"),
        ] as [(String, Int64, String)])
    func `the request's own directives count`(line: String, seconds: Int64, found: String) {
        #expect(verdict(query([("Cache-Control", line)]), Self.fresh, after: seconds) == found)
    }

    @Test(
        arguments: [
            ("max-age=1, stale-while-revalidate=60", 30, "updating"),
            ("max-age=1, stale-while-revalidate=60", 90, "fetch stale"),
            ("max-age=1, stale-while-revalidate=60, must-revalidate", 30, "fetch stale"),
            ("max-age=600, no-cache", 1, "fetch stale"),
            ("max-age=600, immutable", 1, "hit"),
        ] as [(String, Int64, String)])
    func `a stale response is used only where the server allows it`(line: String, seconds: Int64, found: String) {
        #expect(verdict(query(), [("Cache-Control", line)], after: seconds) == found)
    }

    @Test func `noCache does not ask about a fresh immutable response`() {
        let stored = [("Cache-Control", "max-age=600, immutable"), ("ETag", "\"v\"")]
        #expect(verdict(query { $0.mode = .noCache }, stored) == "hit")
        #expect(verdict(query { $0.mode = .noCache }, stored, after: 700) == "ask If-None-Match")
    }

    @Test(
        arguments: [
            ("bytes=0-1", 0..<2), ("bytes=5-", 5..<10), ("bytes=-3", 7..<10), ("bytes=8-99", 8..<10),
            ("bytes=10-", nil),
            ("bytes=-0", nil), ("bytes=3-1", nil), ("bytes=0-1,3-4", nil), ("lines=0-1", nil), ("bytes=-99", 0..<10),
        ] as [(String, Range<Int>?)])
    func `a range is taken from a whole body`(line: String, part: Range<Int>?) {
        let step = CachePolicy.decide(
            query([("Range", line)]), head(Self.fresh), size: 10, hasVariants: false, now: arrival)
        if case .use(let use) = step { #expect(use.range == part) } else { #expect(part == nil) }
    }

    @Test func `stale-if-error is for server errors and lost connections, and not for ever`() {
        let stored = head([("Cache-Control", "max-age=1, stale-if-error=60")])
        func rescues(_ status: Int?, _ seconds: Int64) -> Bool {
            CachePolicy.rescues(query(), stored, status: status, now: arrival + seconds * 1000)
        }
        #expect(rescues(nil, 30) && rescues(503, 30) && rescues(500, 30))
        #expect(!rescues(404, 30) && !rescues(501, 30) && !rescues(nil, 90))
        let strict = head([("Cache-Control", "max-age=1, stale-if-error=60, must-revalidate")])
        #expect(!CachePolicy.rescues(query(), strict, status: nil, now: arrival + 30_000))
    }

    @Test(
        arguments: [
            ([("Cache-Control", "max-age=9")], 200, true), ([("Cache-Control", "no-store")], 200, false),
            ([("Cache-Control", "no-store, must-understand")], 200, true),
            ([("Cache-Control", "max-age=9, must-understand")], 599, false),
            ([("Cache-Control", "private")], 200, true),
            ([("ETag", "\"v\"")], 200, true), ([], 200, false), ([("ETag", "\"v\"")], 503, false),
            ([("Cache-Control", "max-age=9")], 503, true),
            ([("Cache-Control", "max-age=9"), ("Vary", "a, *")], 200, false),
            ([("Cache-Control", "max-age=9")], 206, false),
            ([("Cache-Control", "max-age=9"), ("Set-Cookie", "a=b")], 200, false),
            ([("Cache-Control", "public, max-age=9"), ("Set-Cookie", "a=b")], 200, true),
        ] as [([(String, String)], Int, Bool)])
    func `what is stored follows from the response`(fields: [(String, String)], status: Int, stored: Bool) {
        let response = HTTPFields(fields.map { HTTPFields.Field($0.0, $0.1) })
        let decision = StoreDecision.decide(query(), status: status, response, isShared: true, isForAll: true)
        if case .store = decision { #expect(stored) } else { #expect(!stored) }
    }

    @Test(arguments: [(200, true), (206, true), (416, false), (404, false), (500, false)])
    func `a range is answered with a part or the whole, or nothing is stored`(status: Int, stored: Bool) {
        let fields: HTTPFields = [.init("Cache-Control", "max-age=9"), .init("Content-Range", "bytes 0-1/4")]
        let decision = StoreDecision.decide(
            query([("Range", "bytes=0-1")]), status: status, fields, isShared: true, isForAll: true)
        #expect((decision == .store([])) == stored)
        let whole = StoreDecision.decide(query(), status: 416, fields, isShared: true, isForAll: true)
        #expect(whole == .skip("status 416"))
    }

    @Test func `an unsafe request invalidates its URL and those that it names on the same origin`() {
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/x")
        let fields: HTTPFields = [
            .init("Location", "/y"), .init("Content-Location", "http://b.test/z"),
            .init("Cache-Group-Invalidation", "\"one\", \"two\""),
        ]
        let found = Invalidation(method: "POST", url: url, status: 201, fields)
        #expect(found.urls.map(\.target) == ["/x", "/y"])
        #expect(found.groups == ["http://a.test one", "http://a.test two"])
        let none = [("POST", 500), ("GET", 200)].map { Invalidation(method: $0, url: url, status: $1, fields) }
        #expect(none.allSatisfy { $0.urls.isEmpty && $0.groups.isEmpty })
    }

    @Test func `a 304 changes the head and not the description of the body`() {
        let stored = head([
            ("ETag", "\"v\""), ("Content-Length", "10"), ("X", "1"), ("Age", "50"), ("Date", date(-100)),
        ])
        let news: HTTPFields = [.init("Content-Length", "0"), .init("X", "2"), .init("Date", date(0))]
        let updated = stored.updated(by: news, requestedAt: arrival, respondedAt: arrival)
        #expect(updated.fields.first("Content-Length") == "10")
        #expect(updated.fields.first("X") == "2" && updated.fields.first("ETag") == "\"v\"")
        #expect(updated.freshness.age(at: arrival) == 0)
    }

    @Test(
        arguments: [
            (#"W/"v""#, #""v""#, true, #"W/"v""#), (#""v""#, #"W/"v""#, true, #"W/"v""#),
            (#""v""#, #""w""#, false, #""w""#), (#"W/"v""#, #""w""#, false, #""w""#),
            (#"W/"v""#, #"W/"v""#, true, #"W/"v""#), ("\"\u{E9}\"", "\"e\u{301}\"", false, "\"e\u{301}\""),
        ])
    func `entity tags of a 304 are compared weakly, and no tag becomes strong`(
        own: String, given: String, agrees: Bool, kept: String
    ) {
        let news: HTTPFields = [.init("ETag", given)]
        let stored = head([("ETag", own)])
        #expect(stored.agrees(with: news) == agrees && stored.isConfirmed(by: news) == agrees)
        #expect(stored.updated(by: news, requestedAt: arrival, respondedAt: arrival).etag == kept)
    }

    @Test(
        arguments: [
            ("\"v\"", 0, true, true), ("\"v\"", -5, true, false), ("\"w\"", 0, false, false), (nil, 0, true, true),
            (nil, -5, false, false),
        ] as [(String?, Int64, Bool, Bool)])
    func `the entity tag of a 304 decides before its date, and a HEAD needs both`(
        tag: String?, seconds: Int64, isSelected: Bool, agrees: Bool
    ) {
        let stored = head([("ETag", "\"v\""), ("Last-Modified", date(0))])
        var news: HTTPFields = [.init("Last-Modified", date(seconds))]
        if let tag { news.add("ETag", tag) }
        #expect(stored.isSelected(by: news) == isSelected && stored.agrees(with: news) == agrees)
    }

    @Test func `a 304 without a Date makes the response as old as the 304`() {
        let stored = head([("Date", date(-100)), ("Cache-Control", "max-age=50")])
        let updated = stored.updated(by: [.init("X", "1")], requestedAt: arrival, respondedAt: arrival)
        #expect(!stored.isFresh(at: arrival) && updated.isFresh(at: arrival))
        #expect(updated.freshness.age(at: arrival) == 0 && updated.fields.all("Date") == [date(0)])
    }

    @Test func `a head is written and read with the bytes of its fields`() throws {
        let tag = HTTPFields.Field("ETag", FieldText("\"caf\u{E9}\"", isLatin1: true))
        let lists: [[HTTPFields.Field]] = [
            [.init("X", "\u{E9}"), tag], [tag, .init("X", "1"), tag], [.init("X", "1")],
        ]
        for fields in lists {
            let stored = CachedHead(
                status: 200, reason: "", version: "1.1", HTTPFields(fields), requestedAt: arrival, respondedAt: arrival)
            let bytes = try #require(CachedHeadCoding.encode(stored, vary: ["x"], tags: ["t"]))
            let read = try #require(bytes.withUnsafeBytes { CachedHeadCoding.decode($0) })
            #expect(read.head == stored && read.vary == ["x"] && read.tags == ["t"])
            #expect(read.head.conditions.list.map(\.text.bytes) == (fields.contains(tag) ? [tag.text.bytes] : []))
            #expect((bytes + [0]).withUnsafeBytes { CachedHeadCoding.decode($0) } == nil)
        }
    }
}

struct CacheKeyTests {
    private let secret = CacheSecret(Array(repeating: 7, count: 32))

    @Test func `fields that Vary names are compared in one form`() {
        func variant(_ name: String, _ lines: [String]) -> String {
            CacheKey.variant([name], of: HTTPFields(lines.map { HTTPFields.Field(name, $0) }))
        }
        #expect(variant("a", ["x, y"]) == variant("a", ["x", "y"]))
        #expect(variant("a", ["x ,  y"]) == variant("a", ["x,y"]))
        #expect(variant("a", ["x,y"]) != variant("a", ["y,x"]))
        #expect(variant("accept-language", ["EN, de"]) == variant("accept-language", ["de,en;q=1.0"]))
        #expect(variant("accept-language", ["en;q=0.5"]) != variant("accept-language", ["en"]))
        let sent: HTTPFields = [.init("Accept-Encoding", "gzip, deflate")]
        #expect(CacheKey.variant(["accept-encoding"], of: sent, coding: "gzip, deflate").isEmpty)
    }

    @Test func `ignored parameters of a query do not count`() {
        let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/p?a=1&utm=2&b=3")
        #expect(CacheKey.text(url, ignoring: ["utm"]) == "https://a.test/p?a=1&b=3")
        #expect(CacheKey.text(url, ignoring: ["utm", "a", "b"]) == "https://a.test/p")
    }

    @Test func `credentials tell principals apart, and no principal shows them`() {
        func principal(_ fields: HTTPFields, stable: String? = nil, named: String? = nil) -> CacheDigest {
            let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/")
            let attempt = Attempt(method: "GET", url: url, fields: fields)
            return secret.digest(CachePrincipal.text(attempt, CachePrincipal.Stable(login: stable), named: named))
        }
        #expect(principal([.init("Accept", "x")]) == .empty)
        let all: [HTTPFields] = [
            [.init("Authorization", "Bearer a")], [.init("Authorization", "Bearer b")], [.init("Cookie", "a=1")],
            [.init("X-Api-Key", "a")], [],
        ]
        #expect(Set(all.map { principal($0) }).count == all.count)
        #expect(principal(all[0], named: "shared") == principal(all[2], named: "shared"))
        #expect(principal(all[0], stable: "digest u") == principal(all[1], stable: "digest u"))
    }

    @Test func `another way to the server is another principal, but no credential`() {
        let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/")
        let server = ProxyServer(.http, at: HTTPURL(scheme: .http, host: "p.test", port: 80, target: "/"))
        let rules = ProxyRules(http: nil, https: server)
        let plain = Attempt(method: "GET", url: url, fields: [])
        var (proxied, narrow) = (plain, plain)
        proxied.proxies = rules
        narrow.addresses = .publicOnly
        func text(_ attempt: Attempt, own: ProxyRules? = nil) -> String {
            CachePrincipal.text(attempt, CachePrincipal.Stable(), named: nil, proxies: own)
        }
        #expect(Set([text(plain), text(proxied), text(narrow)]).count == 3)
        #expect(text(plain).isEmpty && text(proxied, own: rules).isEmpty && !text(plain, own: rules).isEmpty)
        #expect(CachePrincipal.credentials(proxied, CachePrincipal.Stable(), named: nil).isEmpty)
    }
}

struct CollapseMachineTests {
    @Test func `the last reader that leaves ends the exchange`() {
        var machine = CollapseMachine()
        let first = machine.join(0)
        #expect(first)
        let second = machine.join(1)
        #expect(second)
        let early = machine.leave(0)
        #expect(early == .none)
        let last = machine.leave(1)
        #expect(last == .cancel)
        let late = machine.join(2)
        #expect(late == false)
    }

    @Test func `a response that is not stored stays with the request that was sent`() {
        var machine = CollapseMachine()
        for reader in 0..<3 { _ = machine.join(reader) }
        let step = machine.responded(mayShare: false, others: [])
        #expect(step == .keep(0, alone: [1, 2]))
        var left = CollapseMachine()
        for reader in 0..<3 { _ = left.join(reader) }
        _ = left.leave(0)
        let next = left.responded(mayShare: false, others: [])
        #expect(next == .keep(1, alone: [2]))
    }

    @Test func `a failure of the sender's own does not reach the others`() {
        var machine = CollapseMachine()
        for reader in 0..<3 { _ = machine.join(reader) }
        let step = machine.failed(isOfSender: true)
        #expect(step == .fail([0], again: [1, 2]))
        var lost = CollapseMachine()
        for reader in 0..<2 { _ = lost.join(reader) }
        let end = lost.failed(isOfSender: false)
        #expect(end == .fail([0, 1], again: []))
    }

    @Test func `nothing is stored after an invalidation, and no request joins`() {
        var machine = CollapseMachine()
        _ = machine.join(0)
        machine.unkey()
        #expect(machine.isStorable == false)
        let joined = machine.join(1)
        #expect(joined == false)
        let step = machine.responded(mayShare: true, others: [])
        #expect(step == .share)
    }
}
