// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Which proxy, for which URL.
@Suite struct ProxyRulesTests {
    private static func url(_ text: String) throws -> HTTPURL { try HTTPURL(parsing: text) }

    private static let proxies: [(String, String)] = [
        ("http://h", "http://h:80"), ("h", "http://h:80"), ("H.Test:3128/", "http://h.test:3128"),
        ("https://h", "https://h:443"), ("HTTPS://h:80", "https://h:80"), ("http://h:443", "http://h:443"),
        ("socks5://h", "socks5://h:1080"), ("socks5h://h:80", "socks5h://h:80"), ("socks5://h:443", "socks5://h:443"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("bücher.test", "http://xn--bcher-kva.test:80"),
        ("http://u:p@h", "http://u:***@h:80"), ("u:p@h:1", "http://u:***@h:1"), ("http://u@h", "http://u:***@h:80"),
        ("http://u%40x:p%3Aq%20@h", "http://u%40x:***@h:80"), ("http://u:p@q@h", "http://u:***@h:80"),
        ("http://u:\u{301}p@h", "http://u:***@h:80"),
    ]

    @Test(arguments: proxies)
    func `a proxy is read as a URL, or less [AD3]`(written: String, shown: String) throws {
        let proxy = try ProxyServer(parsing: written)
        #expect(proxy.description == shown)
        #expect("\(proxy)" == shown)
        // written out whole it is the same again
        #expect(try ProxyServer(parsing: proxy.text(withSecrets: true)) == proxy)
    }

    @Test func `user and password are decoded`() throws {
        let proxy = try ProxyServer(parsing: "http://u%40x:p%3Aq%2F@h")
        #expect(proxy.credential == UserCredential("u@x", "p:q/"))
        #expect(try ProxyServer(parsing: "http://:p@h").credential == UserCredential("", "p"))
        #expect(try ProxyServer(parsing: "http://h").credential == nil)
    }

    @Test(arguments: [
        "", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:x", "http://h/x", "http://h?x",
        "http://h#x",
        "ftp://h", "socks4://h", "socks://h", "://h", "http://a b", "http://h\r\nX: y", "http://u%0Ax:secret@h",
        "http://u:sec%00ret@h", "http://u%3Ax:secret@h", "http://u%FF:secret@h", "socks5://:secret@h", "http://[::1",
        "http://u:secret@", "http://u:secret@h:99999", "file:///x", "http:/h",
        // with an accent behind the last character
        "http://h/\u{35F}", "http://h/\u{301}x", "http://u:p@\u{301}h",
    ])
    func `what is no proxy is refused, and no password is told`(written: String) {
        let error = #expect(throws: HTTPFailure.self) { try ProxyServer(parsing: written) }
        #expect(error?.pointer == "/proxy")
        #expect(error.map { [.invalidURL, .unsupportedScheme].contains($0.kind) } == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `no text, however odd, stops us`() {
        var random = SeededRandom(seed: 1928)
        let letters = Array("htps5ock:/@%[].u0:9?#*, \n\u{0}é")
        for _ in 0..<5_000 {
            let text = String(
                (0..<Int.random(in: 0...20, using: &random)).map { _ in letters.randomElement(using: &random) ?? "x" })
            _ = try? ProxyServer(parsing: text)
            var bypass = ProxyBypass(listed: text)
            _ = bypass.add(text)
            _ = bypass.covers(HTTPURL(scheme: .http, host: text, port: 80, target: "/"))
        }
        #expect(throws: HTTPFailure.self) { try ProxyServer(parsing: String(repeating: "a", count: 10_000)) }
    }

    // MARK: where none is used

    private static let places: [(String, String, Bool)] = [
        // a name stands for itself and all below it, as in curl, with or without a dot
        ("example.org", "http://example.org/", true), ("example.org", "http://www.example.org/", true),
        ("example.org", "https://EXAMPLE.org:8443/", true), ("example.org", "http://notexample.org/", false),
        ("example.org", "http://example.org.evil.test/", false), (".example.org", "http://example.org/", true),
        (".example.org", "http://a.b.example.org/", true), ("example.org.", "http://example.org/", true),
        ("example.org", "http://example.org./", true), ("*.example.org", "http://www.example.org/", true),
        ("*.example.org", "http://example.org/", false), ("EXAMPLE.ORG", "http://example.org/", true),
        ("bücher.test", "http://xn--bcher-kva.test/", true), ("org", "http://example.org/", true),
        // ports
        ("example.org:8080", "http://example.org:8080/", true), ("example.org:8080", "http://example.org/", false),
        ("example.org:443", "https://www.example.org/", true), ("example.org:80", "https://example.org/", false),
        // addresses
        ("127.0.0.1", "http://127.0.0.1/", true), ("127.0.0.1", "http://0x7f.1/", true),
        ("127.0.0.1", "http://127.0.0.11/", false), ("127.0.0.1", "http://localhost/", false),
        ("0.1", "http://10.0.0.1/", false), ("10.0.0.0/8", "http://10.255.0.1/", true),
        ("10.0.0.0/8", "http://11.0.0.1/", false), ("10.0.0.0/8", "http://10.evil.test/", false),
        ("192.168.1.128/25", "http://192.168.1.127/", false), ("192.168.1.128/25", "http://192.168.1.200/", true),
        ("0.0.0.0/0", "http://8.8.8.8/", true), ("0.0.0.0/0", "http://[::1]/", false),
        ("10.0.0.7/8", "http://10.1.1.1/", true), ("127.0.0.1:80", "http://127.0.0.1/", true),
        ("127.0.0.1:80", "http://127.0.0.1:81/", false), ("10.0.0.0/8:80", "http://10.0.0.1:80/", true),
        ("::1", "http://[::1]/", true), ("[::1]", "http://[0:0::1]/", true), ("[::1]:8080", "http://[::1]:8080/", true),
        ("[::1]:8080", "http://[::1]/", false), ("fe80::/10", "http://[febf::1]/", true),
        ("fe80::/10", "http://[fec0::1]/", false), ("2001:db8::/32", "http://[2001:db8:ffff::]/", true),
        // everywhere
        ("*", "http://example.org/", true), ("*", "https://10.0.0.1:1/", true),
        ("localhost", "http://localhost:1/", true), ("localhost", "http://a.localhost/", true),
    ]

    @Test(arguments: places)
    func `no proxy is used where that was said [AD6]`(item: String, target: String, isCovered: Bool) throws {
        var bypass = ProxyBypass()
        let isRead = bypass.add(item)
        #expect(isRead)
        #expect(bypass.covers(try Self.url(target)) == isCovered)
        #expect(bypass.texts == [item])
        #expect(ProxyBypass(listed: "other.test, \(item)").covers(try Self.url(target)) == isCovered)
    }

    @Test(arguments: [
        "", ".", "*.", "a b", "10.0.0.0/33", "10.0.0.0/", "10.0.0/x", "::1/129", "example.org:0", "example.org:65536",
        "example.org:x", "http://example.org", "example.org/path", "a..b", "[::1", "*:80x",
    ])
    func `what cannot be read as a place is told, or left out of a list as curl does`(item: String) throws {
        var bypass = ProxyBypass()
        let isRead = bypass.add(item)
        #expect(!isRead)
        #expect(ProxyBypass(listed: "\(item),ok.test").covers(try Self.url("http://ok.test/")))
    }

    @Test func `a list has commas, spaces or both`() throws {
        let bypass = ProxyBypass(listed: " a.test,b.test , c.test\td.test,,")
        #expect(bypass.texts == ["a.test", "b.test", "c.test", "d.test"])
        #expect(!ProxyBypass(listed: "").covers(try Self.url("http://a.test/")))
    }

    // MARK: which one

    @Test func `each scheme has its own, and a socket has none`() throws {
        let rules = ProxyRules(
            http: try ProxyServer(parsing: "a:1"), https: try ProxyServer(parsing: "b:1"),
            bypass: ProxyBypass(listed: "direct.test"))
        #expect(rules.server(for: try Self.url("http://x.test/"))?.name == "a:1")
        #expect(rules.server(for: try Self.url("https://x.test/"))?.name == "b:1")
        #expect(rules.server(for: try Self.url("https://direct.test/")) == nil)
        #expect(rules.server(for: try Self.url("http+unix://%2Ftmp%2Fs/")) == nil)
        #expect(ProxyRules.direct.server(for: try Self.url("http://x.test/")) == nil && ProxyRules.direct.isDirect)
    }

    private static func environment(_ variables: [String: String]) -> ProxyEnvironment {
        ProxyEnvironment { variables[$0] }
    }

    private static func names(_ variables: [String: String]) throws -> [String?] {
        let rules = try environment(variables).rules()
        return [rules.http?.name, rules.https?.name]
    }

    @Test func `the environment counts as it does for curl [AD7]`() throws {
        #expect(try Self.names([:]) == [nil, nil])
        #expect(try Self.names(["http_proxy": "a:1", "https_proxy": "b:1"]) == ["a:1", "b:1"])
        // programs that a web server starts find a request's field there
        #expect(try Self.names(["HTTP_PROXY": "evil:1"]) == [nil, nil])
        #expect(try Self.names(["HTTPS_PROXY": "b:1"]) == [nil, "b:1"])
        #expect(try Self.names(["HTTPS_PROXY": "b:1", "https_proxy": "c:1"]) == [nil, "c:1"])
        #expect(try Self.names(["ALL_PROXY": "d:1"]) == ["d:1", "d:1"])
        #expect(try Self.names(["all_proxy": "d:1", "ALL_PROXY": "e:1", "http_proxy": "a:1"]) == ["a:1", "d:1"])
        #expect(try Self.names(["all_proxy": "d:1", "http_proxy": ""]) == ["d:1", "d:1"])
        let rules = try Self.environment(["all_proxy": "d:1", "NO_PROXY": "x.test"]).rules()
        #expect(rules.server(for: try Self.url("https://x.test/")) == nil)
        #expect(try Self.environment(["no_proxy": "*", "NO_PROXY": "x.test"]).rules().bypass.texts == ["*"])
    }

    @Test func `a variable that cannot be used fails only where it is needed`() throws {
        let replaced = Self.environment(["http_proxy": "a:1", "https_proxy": "b:1", "all_proxy": "socks://c"])
        #expect([replaced.text(isSecure: false), replaced.text(isSecure: true)] == ["a:1", "b:1"])
        let broken = Self.environment(["https_proxy": "socks4://b", "no_proxy": "x.test"])
        #expect(broken.text(isSecure: false) == nil)
        #expect(broken.text(isSecure: true) == "http://https-proxy-cannot-be-used.invalid")
        #expect(throws: Never.self) { try broken.check(Self.url("http://a.test/")) }
        #expect(throws: Never.self) { try broken.check(Self.url("https://x.test/")) }
        let error = #expect(throws: HTTPFailure.self) { try broken.check(Self.url("https://a.test/")) }
        #expect(error?.message.hasPrefix("https_proxy in the environment:") == true)
        let all = Self.environment(["all_proxy": "socks://c"])
        #expect(all.text(isSecure: false) == "http://all-proxy-cannot-be-used.invalid")
    }

    @Test func `a variable that makes no sense is named`() {
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            let error = #expect(throws: HTTPFailure.self) {
                try Self.environment([name: "gopher://u:secret@h"]).rules()
            }
            #expect(error?.message.contains(name) == true && error?.message.contains("secret") == false)
        }
    }
}
