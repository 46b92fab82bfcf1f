// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

@Suite struct HSTSStoreTests {
    private static let now: Int64 = 1_800_000_000

    private func url(_ text: String) throws -> HTTPURL { try HTTPURL(parsing: text) }

    private func store(_ field: String, from text: String = "https://a.test/") throws -> HSTSStore {
        var store = HSTSStore()
        _ = store.learn(field, from: try url(text), now: Self.now)
        return store
    }

    private func upgraded(_ text: String, by store: HSTSStore, after seconds: Int64 = 0) throws -> String? {
        store.upgraded(try url(text), now: Self.now + seconds)?.description
    }

    @Test(
        "a field is read as RFC 6797 section 6.1 has it",
        arguments: [
            ("max-age=60", true), ("MAX-AGE=\"60\"", true), ("max-age=60; includeSubDomains; preload", true),
            (" ; max-age = 60 ;; x=\"y\"", true), ("max-age=99999999999999999999", true), ("", false),
            ("includeSubDomains", false), ("max-age", false), ("max-age=", false), ("max-age=-1", false),
            ("max-age=1.5", false), ("max-age=60; max-age=60", false), ("max-age=60; includeSubDomains=1", false),
            ("max-age=0", false), ("max-age=60; x=\"a; max-age=0\"", true), ("x=\"\\\";max-age=60\"", false),
        ])
    func fields(_ field: String, _ counts: Bool) throws {
        #expect(try (upgraded("http://a.test/x?y", by: store(field)) != nil) == counts)
    }

    @Test("port 80 becomes 443, and other ports stay")
    func ports() throws {
        let store = try store("max-age=60")
        #expect(try upgraded("http://a.test/x?y", by: store) == "https://a.test/x?y")
        #expect(try upgraded("http://A.test.:80/", by: store)?.hasPrefix("https://a.test") == true)
        #expect(try upgraded("http://a.test:8080/", by: store) == "https://a.test:8080/")
        #expect(try upgraded("ws://a.test/", by: store) == "wss://a.test/")
        #expect(try upgraded("https://a.test/", by: store) == nil)
    }

    @Test("subdomains count only where the host says so, and entries end")
    func scope() throws {
        let one = try store("max-age=60")
        let all = try store("max-age=60; includeSubDomains")
        #expect(try upgraded("http://b.a.test/", by: one) == nil)
        #expect(try upgraded("http://c.b.a.test/", by: all) != nil)
        #expect(try upgraded("http://test/", by: all) == nil)
        #expect(try upgraded("http://ba.test/", by: all) == nil)
        #expect(try upgraded("http://a.test/", by: one, after: 59) != nil)
        #expect(try upgraded("http://a.test/", by: one, after: 61) == nil)
    }

    @Test(
        "addresses, names of this machine and plain responses teach nothing",
        arguments: [
            "https://127.0.0.1/", "https://[::1]/", "https://localhost/", "https://a.localhost/", "http://a.test/",
        ])
    func places(_ text: String) throws { #expect(try store("max-age=60", from: text).entries.isEmpty) }

    @Test("an entry is removed, replaced, and left alone")
    func changes() throws {
        var store = try store("max-age=86400")
        let place = try url("https://a.test/")
        let changed1 = store.learn("max-age=86400", from: place, now: Self.now + 10)
        #expect(!changed1)
        let changed2 = store.learn("max-age=86400", from: place, now: Self.now + 7200)
        #expect(changed2)
        let changed3 = store.learn("max-age=86400; includeSubDomains", from: place, now: Self.now + 7200)
        #expect(changed3)
        let changed4 = store.learn("max-age=0", from: place, now: Self.now)
        #expect(changed4)
        let changed5 = store.learn("max-age=0", from: place, now: Self.now)
        #expect(!changed5)
        #expect(store.entries.isEmpty)
    }

    @Test("not more than so many hosts are remembered")
    func limit() throws {
        var store = HSTSStore()
        for number in 0..<HSTSStore.mostHosts {
            _ = store.learn("max-age=60", from: try url("https://h\(number).test/"), now: Self.now)
        }
        let further = try url("https://further.test/")
        let changed6 = store.learn("max-age=60", from: further, now: Self.now)
        #expect(!changed6)
        let changed7 = store.learn("max-age=60", from: further, now: Self.now + 61)
        #expect(changed7)
        #expect(store.entries.count == 1)
    }

    @Test("the file is that of curl")
    func file() throws {
        var store = try store("max-age=86400; includeSubDomains")
        _ = store.learn("max-age=60", from: try url("https://b.test/"), now: Self.now)
        let text = store.text(now: Self.now)
        #expect(text.hasSuffix("\n.a.test \"20270116 08:00:00\"\nb.test \"20270115 08:01:00\"\n"))
        #expect(HSTSStore(parsing: text).entries == store.entries)
        #expect(HSTSStore(parsing: "# x\n.a.test\nc.test \"x\"\n127.0.0.1 \"20270116 08:00:00\"\n").entries.isEmpty)
        #expect(HSTSStore(parsing: "d.test \"unlimited\"").entries["d.test"]?.expires == .max)
        #expect(!store.text(now: Self.now + 61).contains("b.test"))
    }
}
