// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct CookieJarTests {
    private let secure = "https://www.example.com"
    private let plain = "http://www.example.com"

    @Test func `the longest path goes first, then the oldest cookie`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "z=1", "a=2; Path=/x", "m=3")
        #expect(try stage.get(secure + "/x/y") == "a=2; z=1; m=3")
        try stage.set(secure + "/", "z=4")
        #expect(try stage.get(secure + "/") == "z=4; m=3", "a new value keeps its place")
        try stage.set(secure + "/", "z=; Max-Age=0")
        try stage.set(secure + "/", "z=5")
        #expect(try stage.get(secure + "/") == "m=3; z=5", "a deleted cookie is new")
    }

    @Test func `changes are told, values are not`() throws {
        var stage = CookieStage()
        let added = try stage.set(secure + "/", "a=1; Path=/", "=x", "b=2; Domain=com")
        #expect(added.map(\.kind) == [.added, .refused, .refused])
        #expect(added.map(\.reason) == [nil, .noName, .publicSuffix])
        #expect(try stage.set(secure + "/", "a=2").map(\.kind) == [.replaced])
        #expect(try stage.set(secure + "/", "a=2; Max-Age=-1").map(\.kind) == [.deleted])
        #expect(try stage.set(secure + "/", "a=2; Max-Age=0").isEmpty)
    }

    @Test func `Max-Age counts before Expires, and neither beyond 400 days`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
        try stage.set(secure + "/", "b=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", "c=1; Max-Age=99999999999999999999")
        stage.now += 9
        #expect(try stage.get(secure + "/") == "a=1; b=1; c=1")
        stage.now += 1
        #expect(try stage.get(secure + "/") == "b=1; c=1")
        stage.now += 400 * 86_400
        #expect(try stage.get(secure + "/") == nil)
    }

    @Test(arguments: [
        ("https://example.com/", "a=1", "https://www.example.com/", false),
        ("https://www.example.com/", "a=1; Domain=example.com", "https://x.y.example.com/", true),
        ("https://www.example.com/", "a=1; Domain=.EXAMPLE.com", "https://example.com/", true),
        ("https://www.example.com/", "a=1; Domain=example.com; Domain=", "https://example.com/", false),
        ("https://notexample.com/", "a=1; Domain=example.com", "https://example.com/", false),
        ("https://www.example.com/", "a=1; Domain=example.com.", "https://www.example.com/", false),
        ("http://192.0.2.7/", "a=1; Domain=192.0.2.7", "http://192.0.2.7/", true),
        ("http://192.0.2.7/", "a=1; Domain=2.7", "http://192.0.2.7/", false),
        ("http://[::1]/", "a=1", "http://[::1]:8080/", true),
        ("https://github.io/", "a=1; Domain=github.io", "https://a.github.io/", false),
        ("https://github.io/", "a=1; Domain=github.io", "https://github.io/", true),
        ("https://www.example.com./", "a=1", "https://www.example.com/", true),
        ("https://a.xn--bcher-kva.de/", "a=1; Domain=xn--bcher-kva.de", "https://b.bücher.de/", true),
        ("https://a.bücher.de/", "a=1; Domain=bücher.de", "https://a.bücher.de/", false),
        ("https://b.c.kawasaki.jp/", "a=1; Domain=c.kawasaki.jp", "https://b.c.kawasaki.jp/", false),
        ("https://x.city.kawasaki.jp/", "a=1; Domain=city.kawasaki.jp", "https://city.kawasaki.jp/", true),
        ("https://x.city.kawasaki.jp/", "a=1; Domain=kawasaki.jp", "https://x.city.kawasaki.jp/", false),
    ])
    func `a cookie goes to its host or domain only`(from: String, field: String, to: String, isSent: Bool) throws {
        var stage = CookieStage()
        try stage.set(from, field)
        #expect(try stage.get(to) == (isSent ? "a=1" : nil))
    }

    @Test(arguments: [
        ("/a/b", "x=1", "/a/c", true), ("/a/b", "x=1", "/ab", false), ("/a/", "x=1", "/a", true),
        ("/a?b/c", "x=1", "/", true), ("/", "x=1; Path=/f", "/f", true), ("/", "x=1; Path=/f", "/fo", false),
        ("/", "x=1; Path=/f/", "/f", false), ("/a/b", "x=1; Path=f", "/a/x", true), ("/", "x=1; Path=/F", "/f", false),
        ("/", "x=1; Path=/%66", "/f", false), ("/a/b", "x=1; Path=/q; Path=", "/a/", true),
    ])
    func `paths match by whole names`(from: String, field: String, to: String, isSent: Bool) throws {
        var stage = CookieStage()
        try stage.set(secure + from, field)
        #expect(try (stage.get(secure + to) != nil) == isSent)
    }

    @Test func `plain http neither sees nor shadows a Secure cookie`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "a=1; Secure")
        #expect(try stage.set(plain + "/x/y", "a=2; Domain=example.com").map(\.reason) == [.overlaysSecure])
        #expect(try stage.set(plain + "/", "b=2; Secure").map(\.reason) == [.secureOverHTTP])
        #expect(try stage.get(plain + "/") == nil)
        #expect(try stage.set("http://localhost:1/", "c=1; Secure").map(\.kind) == [.added])
        #expect(try stage.get("http://localhost:2/") == "c=1")
    }

    @Test func `an expired cookie counts as absent`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "a=1; Secure; Max-Age=10", "b=1; Max-Age=10", "c=1")
        stage.now += 11
        #expect(try stage.set(plain + "/", "a=2").map(\.kind) == [.added])
        #expect(try stage.set(secure + "/", "b=2").map(\.kind) == [.added])
        #expect(try stage.get(plain + "/") == "c=1; a=2; b=2")
    }

    @Test(arguments: [
        ("__Secure-a=1", CookieRefusal.prefix), ("__SECURE-a=1; Secure", nil), ("__Host-a=1; Secure; Path=/", nil),
        ("__Host-a=1; Secure", .prefix), ("__Host-a=1; Secure; Path=/; Domain=www.example.com", .prefix),
        ("__Host-a=1; Secure; Path=/; Domain=", nil), ("__Http-a=1; Secure", .prefix),
        ("__Http-a=1; Secure; HttpOnly", nil), ("__Host-Http-a=1; Secure; Path=/; HttpOnly", nil),
        ("__Host-Http-a=1; Secure; Path=/", .prefix), ("__Host-\u{301}a=1; Secure", .prefix),
        ("__Secure-\u{301}a=1", .prefix), ("a=1; SameSite=None", .sameSiteNoneNeedsSecure),
        ("a=1; Partitioned", .partitionedNeedsSecure), ("a\u{7F}=1", .controlCharacter),
        ("a=1; Path=/\u{2}", .controlCharacter),
        ("a=b\tc", nil), ("", .noName), ("=x", .noName), ("x", .noName),
    ])
    func `prefixes and attributes are held to`(field: String, reason: CookieRefusal?) throws {
        var stage = CookieStage()
        #expect(try stage.set(secure + "/", field).first?.reason == reason)
    }

    @Test func `SameSite counts only in the name of another site`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "s=1; SameSite=Strict", "l=2; SameSite=Lax", "n=3; SameSite=None; Secure", "d=4")
        #expect(try stage.get(secure + "/") == "s=1; l=2; n=3; d=4")
        #expect(try stage.get(secure + "/", site: "https://api.example.com/") == "s=1; l=2; n=3; d=4")
        #expect(try stage.get(secure + "/", site: "https://other.org/") == "n=3")
        #expect(try stage.get(secure + "/", site: "http://example.com/") == "n=3", "the scheme is part of a site")
        #expect(try stage.get(secure + "/", site: "https://other.org/", isNavigation: true) == "l=2; n=3; d=4")
        #expect(try stage.set(secure + "/", "x=1", site: "https://other.org/").map(\.reason) == [.crossSite])
    }

    @Test func `partitions are apart`() throws {
        var stage = CookieStage()
        let field = "p=1; Partitioned; Secure; SameSite=None"
        try stage.set(secure + "/", field, site: "https://a.org/")
        #expect(try stage.get(secure + "/", site: "https://sub.a.org/") == "p=1")
        #expect(try stage.get(secure + "/", site: "https://b.org/") == nil)
        #expect(try stage.get(secure + "/") == nil)
    }

    @Test func `long cookies are bounded by their bytes`() throws {
        var stage = CookieStage()
        for number in 0..<1200 {
            stage.now += 1
            try stage.set("https://h\(number).test/", "a=\(String(repeating: "v", count: 4000))")
        }
        #expect(stage.jar.bytes <= CookieJar.mostBytes && stage.jar.count > 1000 && stage.jar.count < 1100)
        #expect(try stage.get("https://h1199.test/") != nil)
        #expect(try stage.get("https://h0.test/") == nil)
        let gone = stage.jar.shrink(to: 1 << 20, now: stage.now)
        #expect(stage.jar.bytes <= 1 << 20 && stage.jar.count > 250 && gone.allSatisfy { $0.kind == .evicted })
        #expect(try stage.get("https://h1199.test/") != nil)
        _ = stage.jar.removeAll { _ in true }
        #expect(stage.jar.bytes == 0 && stage.jar.count == 0)
    }

    @Test func `limits let exactly the excess go, what is not Secure first`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "keep=1; Secure")
        for number in 0..<300 {
            stage.now += 1
            try stage.set(secure + "/", "c\(number)=1")
        }
        let field = try #require(try stage.get(secure + "/"))
        #expect(stage.jar.count == 180)
        #expect(field.hasPrefix("keep=1; c121=1; ") && field.hasSuffix("; c299=1"))
        for number in 0..<4000 {
            stage.now += 1
            try stage.set("https://h\(number).test/", "a=1")
        }
        #expect(stage.jar.count == 3000)
        #expect(try stage.get("https://h3999.test/") == "a=1")
        #expect(try stage.get("https://h0.test/") == nil)
    }

    @Test func `a field has at most 32 KiB`() throws {
        var stage = CookieStage()
        for number in 10..<20 { try stage.set(secure + "/", "c\(number)=" + String(repeating: "v", count: 4000)) }
        let chosen = stage.jar.choose(for: try CookieStage.request(secure + "/"), now: stage.time)
        #expect(chosen.cookies.count == 8 && chosen.leftOut.count == 2)
        #expect(chosen.field?.utf8.count ?? 0 <= CookieJar.mostFieldBytes)
    }

    @Test func `cookies are left out of a full field from the end, short ones too`() throws {
        var stage = CookieStage()
        for number in 10..<19 { try stage.set(secure + "/", "c\(number)=" + String(repeating: "v", count: 4000)) }
        try stage.set(secure + "/", "short=1")
        let chosen = stage.jar.choose(for: try CookieStage.request(secure + "/"), now: stage.time)
        #expect(chosen.cookies.count == 8 && chosen.leftOut.map(\.name) == ["c18", "short"])
    }

    @Test func `name and value have at most 4,096 bytes`() throws {
        var stage = CookieStage()
        try stage.set(secure + "/", "n=1")
        #expect(try stage.set(secure + "/", "n=" + String(repeating: "v", count: 4096)).map(\.reason) == [.tooLarge])
        #expect(try stage.get(secure + "/") == "n=1", "the old cookie stays")
        #expect(try stage.set(secure + "/", "n=" + String(repeating: "v", count: 4095)).map(\.kind) == [.replaced])
    }

    @Test func `random fields never stop the scanner`() throws {
        var random = SeededRandom(seed: 16)
        let pieces =
            ["a", "=", ";", " ", "\t", "\u{1}", "é", "Path=/", "Domain=", "example.com", ".", "Max-Age=", "-", "9"]
            + [
                "Expires=", "Wed, 09 Jun 2021 10:18:14 GMT", "Secure", "__Host-", "SameSite=", "None", "Partitioned",
                ":", ",",
            ]
        var stage = CookieStage()
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<12, using: &random)
            let field = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
            try stage.set(Bool.random(using: &random) ? secure + "/a/b" : plain + "/", field)
            #expect(stage.jar.count <= CookieJar.mostOfSite)
        }
        _ = try stage.get(secure + "/a/b")
    }
}
