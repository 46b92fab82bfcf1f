// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HTTPURLTests {
    @Test(arguments: [
        ("http://example.org", "http://example.org/"),
        ("HTTP://EXAMPLE.ORG/Path", "http://example.org/Path"),
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:80", "http://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("https://example.org:80", "https://example.org:80/"),
        ("http://example.org:/a", "http://example.org/a"),
        ("http://example.org:0008080/", "http://example.org:8080/"),
        ("http://example.org:65535/", "http://example.org:65535/"),
        ("http://example.org?q", "http://example.org/?q"),
        ("http://example.org?", "http://example.org/?"),
        ("http://example.org/?#", "http://example.org/?"),
        ("http://example.org#top", "http://example.org/"),
        ("http://example.org/a?b#c?d#e", "http://example.org/a?b"),
        ("ws://example.org/chat", "ws://example.org/chat"),
        ("wss://example.org:443/chat", "wss://example.org/chat"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://example.org./", "http://example.org./"),
        ("http://localhost:1", "http://localhost:1/"),
    ])
    func `a URL is brought into one form`(written: String, canonical: String) throws {
        #expect(try HTTPURL(parsing: written).description == canonical)
    }

    @Test(arguments: [
        ("", "/"),
        ("/", "/"),
        ("//", "//"),
        ("/a//b", "/a//b"),
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/../../a", "/a"),
        ("/a/b/..", "/a/"),
        ("/a/b/.", "/a/b/"),
        ("/a/%2e/b", "/a/b"),
        ("/a/%2E%2e/b", "/b"),
        ("/a/.%2e/b", "/b"),
        ("/a/.../b", "/a/.../b"),
        ("/a/..b", "/a/..b"),
        ("/%2F..", "/%2F.."),
        ("/a/..//b", "//b"),
        ("/caf\u{e9}", "/caf%C3%A9"),
        ("/\u{1F600}", "/%F0%9F%98%80"),
        ("/a|b[c]{d}^`\"<>", "/a|b[c]%7Bd%7D%5E%60%22%3C%3E"),
        ("/%zz%4", "/%zz%4"),
        ("/%c3%a9", "/%c3%a9"),
        ("?\u{e9}=\u{e9}", "/?%C3%A9=%C3%A9"),
        ("?a'b\"c<d>", "/?a%27b%22c%3Cd%3E"),
        ("?a=/../b", "/?a=/../b"),
        ("?a\\b", "/?a\\b"),
        ("/a;b=c,d@e:f!$&'()*+", "/a;b=c,d@e:f!$&'()*+"),
    ])
    func `path and query are escaped and free of dots`(written: String, target: String) throws {
        #expect(try HTTPURL(parsing: "http://h" + written).target == target)
    }

    @Test func `the fragment is kept aside`() throws {
        let url = try HTTPURL(parsing: "http://h/a#b c".split(separator: " ").joined(separator: "%20"))
        #expect(url.fragment == "b%20c")
        #expect(url.target == "/a")
        #expect(try HTTPURL(parsing: "http://h/").fragment == nil)
        #expect(try HTTPURL(parsing: "http://h/#").fragment?.isEmpty == true)
    }

    @Test(arguments: [
        ("http://example.org/", "example.org"), ("http://example.org:8080/", "example.org:8080"),
        ("https://example.org:8443/", "example.org:8443"), ("http://[::1]/", "[::1]"),
        ("http://[::1]:81/", "[::1]:81"), ("http://example.org./", "example.org."),
        ("http+unix://%2Frun%2Fx.sock/a", "localhost"),
    ])
    func `the Host field names host and port`(written: String, authority: String) throws {
        #expect(try HTTPURL(parsing: written).authority == authority)
    }

    @Test func `a dot at the end is sent but not compared`() throws {
        let url = try HTTPURL(parsing: "https://Example.org.:444/")
        #expect(url.host == "example.org.")
        #expect(url.hostName == "example.org")
        #expect(try HTTPURL(parsing: "https://example.org/").hostName == "example.org")
    }

    @Test func `a socket stands in the place of the host`() throws {
        let url = try HTTPURL(parsing: "http+unix://%2Frun%2Fmy%20app%2Fx.sock/containers/json?all=1")
        #expect(url.socketPath == "/run/my app/x.sock")
        #expect(url.scheme == .http)
        #expect(url.target == "/containers/json?all=1")
        #expect(url.port == 80)
        #expect(url.description == "http+unix://%2Frun%2Fmy%20app%2Fx.sock/containers/json?all=1")
        #expect(try HTTPURL(parsing: url.description) == url)
        let secure = try HTTPURL(parsing: "HTTPS+UNIX://%2fa")
        #expect(secure.isSecure && secure.target == "/" && secure.socketPath == "/a" && secure.port == 443)
    }

    @Test func `the origin names scheme, host and port and nothing else`() throws {
        #expect(try HTTPURL(parsing: "https://h:8443/a?token=x#y").origin == "https://h:8443")
        #expect(try HTTPURL(parsing: "http+unix://%2Fa.sock/b").origin == "http+unix://%2Fa.sock")
    }

    @Test(arguments: [
        ("http://h/", "a=1", "/?a=1"), ("http://h/?", "a=1", "/?a=1"), ("http://h/?b", "a=1", "/?b&a=1"),
        ("http://h/?b&", "a=1", "/?b&a=1"), ("http://h/?b=2", "", "/?b=2"), ("http://h/p?b=%20", "a=1", "/p?b=%20&a=1"),
    ])
    func `parameters are appended to the query`(written: String, query: String, target: String) throws {
        var url = try HTTPURL(parsing: written)
        url.append(query: query)
        #expect(url.target == target)
    }

    @Test func `reading a canonical URL again changes nothing`() throws {
        let samples = ["http://h/a|b?c'd", "https://[1:0:0:2::]:9/%zz", "http://b\u{fc}cher.example/\u{e9}?\u{e9}"]
        for sample in samples {
            let once = try HTTPURL(parsing: sample)
            #expect(try HTTPURL(parsing: once.description) == once)
        }
    }
}
