// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HTTPURLRefusalTests {
    @Test(arguments: [
        ("", "the url is empty"),
        ("example.org", "\"example.org\" has no scheme: add https://"),
        ("example.org:80/a", "\"example.org:80/a\" has no scheme: add https://"),
        ("localhost:8080", "\"localhost:8080\" has no scheme: add https://"),
        ("//example.org", "has no scheme"),
        ("/path", "has no scheme"),
        ("1http://h/", "has no scheme"),
        ("name@example.org?secret", "the url has no scheme: add https://"),
        ("ada:s3cret@example.org/x", "the url has no scheme: add https://, and give the credentials in auth"),
        ("ada:80@example.org", "and give the credentials in auth (in a shell: -u NAME)"),
        ("http:example.org", "http: must be followed by //"),
        ("https:/example.org", "https: must be followed by //"),
        ("http:///example.org", "no host between the slashes"),
        ("http://", "the url has no host"),
        ("http://?q", "the url has no host"),
        ("http://:80/", "the url has no host"),
        ("http://user@example.org/", "the URL holds credentials, which are refused (give them in auth"),
        ("http://user:word@example.org/", "the URL holds credentials"),
        ("http://@example.org/", "the URL holds credentials"),
        ("http://good.example\\@evil.example/", "a backslash at byte 19: write / or %5C"),
        ("http://h/a\\b", "a backslash at byte 10"),
        ("http://h\\", "a backslash"),
        ("http://h/a b", "a space at byte 10: write %20"),
        (" http://h/", "a space at byte 0"),
        ("http://h/ ", "a space at byte 9"),
        ("http://h o/", "a space at byte 8"),
        ("http://h/\r\nX-Evil: 1", "a control character at byte 9"),
        ("http://h/\u{0}", "a control character at byte 9"),
        ("http://h/\t", "a control character at byte 9"),
        ("http://h/\u{7f}", "a control character at byte 9"),
        ("http://h:99999/", "the port is out of range: 1 to 65535"),
        ("http://h:0/", "the port is out of range"),
        ("http://h:65536/", "the port is out of range"),
        ("http://h:-1/", "the port is not a number"),
        ("http://ada:s3cret/x@h/", "the port is not a number"),
        ("http://h:8a/", "the port is not a number"),
        ("http://h:99999999999999999999999999/", "is out of range"),
        ("http://a..b/", "an empty label"),
        ("http://.a/", "an empty label"),
        ("http://./", "an empty label"),
        ("http://a%20b/", "the host contains \" \""),
        ("http://a%00b/", "the host contains"),
        ("http://a%2fb/", "the host contains \"/\""),
        ("http://a<b/", "the host contains \"<\""),
        ("http://a^b/", "the host contains \"^\""),
        ("http://a|b/", "the host contains \"|\""),
        ("http://a%/", "the host contains \"%\""),
        ("http://%ff/", "the host is not UTF-8 text"),
        ("http://a:b:80/", "several colons: write an IPv6 address in brackets"),
        ("http://::1/", "several colons"),
        ("http://[::1/", "no closing bracket"),
        ("http://[::1]x/", "only a port may follow the brackets"),
        ("http://[fe80::1%25eth0]/", "zone ids of IPv6 addresses are refused"),
        ("http://[fe80::1%eth0]/", "zone ids"),
        ("http+unix://run/x", "the absolute path of a socket with / written as %2F"),
        ("http+unix:///run/x.sock", "no host between the slashes"),
        ("http+unix://%2Fa%00b/", "is not UTF-8 text"),
        ("http+unix://%2Fa%ff/", "is not UTF-8 text"),
    ])
    func `what cannot be meant is refused with a remedy`(written: String, part: String) {
        let failure = #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: written) }
        #expect(failure?.kind == .invalidURL)
        #expect(failure?.pointer == "/url")
        #expect(failure?.message.contains(part) == true, "\(failure?.message ?? "")")
        #expect(failure?.retryable == false && failure?.sent == .notSent)
    }

    @Test(arguments: [
        "ftp://h/", "file:///etc/passwd", "gopher://h/", "javascript:alert(1)", "data:,x", "mailto:ada@h",
        "ws+unix://%2Fa/",
    ])
    func `other schemes are not supported`(written: String) {
        let failure = #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: written) }
        #expect(failure?.kind == .unsupportedScheme)
        #expect(failure?.pointer == "/url")
        #expect(failure?.message.contains("use http or https, or ws or wss for") == true)
    }

    @Test func `a host of 253 characters is the longest`() throws {
        let longest = [63, 63, 63, 61].map { String(repeating: "a", count: $0) }.joined(separator: ".")
        #expect(longest.count == 253)
        #expect(try HTTPURL(parsing: "http://\(longest)/").host == longest)
        #expect(try HTTPURL(parsing: "http://\(longest)./").hostName == longest)
        let failure = #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(longest)a/") }
        #expect(failure?.message == "the host is longer than 253 characters")
    }

    @Test func `a label of 63 characters is the longest`() throws {
        let longest = String(repeating: "a", count: 63)
        #expect(try HTTPURL(parsing: "http://\(longest).example/").host == longest + ".example")
        #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(longest)a.example/") }
        let beyond = String(repeating: "\u{fc}", count: 70)
        #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://\(beyond).example/") }
    }

    @Test func `a URL may have 65536 bytes`() throws {
        let path = String(repeating: "a", count: 65536 - 9)
        #expect(try HTTPURL(parsing: "http://h/" + path).target.utf8.count == path.utf8.count + 1)
        #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http://h/a" + path) }
    }

    @Test func `the path of a socket has at most 107 bytes`() throws {
        let path = String(repeating: "a", count: 106)
        #expect(try HTTPURL(parsing: "http+unix://%2F\(path)/").socketPath == "/" + path)
        #expect(throws: HTTPFailure.self) { try HTTPURL(parsing: "http+unix://%2F\(path)a/") }
    }
}
