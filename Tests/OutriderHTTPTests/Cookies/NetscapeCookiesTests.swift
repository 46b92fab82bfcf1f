// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct NetscapeCookiesTests {
    private let now: Int64 = 1_700_000_000 * Cookie.second

    private func read(_ text: String) -> NetscapeCookies.Found {
        NetscapeCookies.read(Array(text.utf8), .builtIn, now: now)
    }

    @Test func `what is written is read again`() throws {
        var wide = Cookie(name: "a", value: "1=2; no", domain: "example.com")
        wide.value = "1=2"
        (wide.isHostOnly, wide.isSecure, wide.isHTTPOnly) = (false, true, true)
        (wide.expires, wide.path) = (now + 5 * Cookie.second, "/x")
        let empty = Cookie(name: "b", value: "", domain: "192.0.2.7")
        var tabbed = empty
        (tabbed.name, tabbed.value) = ("c", "x\ty")
        var partitioned = empty
        (partitioned.name, partitioned.partition) = ("d", "https://example.com")
        let file = NetscapeCookies.write([wide, empty, tabbed, partitioned])
        #expect(file.skipped == ["c", "d"])
        let found = NetscapeCookies.read(file.text, .builtIn, now: now)
        #expect(found.skipped.isEmpty)
        #expect(found.cookies.map(\.identity) == [wide.identity, empty.identity])
        #expect(found.cookies.map(\.value) == ["1=2", ""])
        #expect(found.cookies.map(\.expires) == [wide.expires, nil])
        #expect(found.cookies.map(\.isHTTPOnly) == [true, false])
    }

    @Test(arguments: [
        "nonsense", "www.example.com\tFALSE\t/", "www.example.com\tMAYBE\t/\tFALSE\t0\ta\t1",
        "www.example.com\tFALSE\t/\tFALSE\tlater\ta\t1", "www.example.com\tFALSE\tx\tFALSE\t0\ta\t1",
        ".com\tTRUE\t/\tFALSE\t0\ta\t1", "www.example.com\tFALSE\t/\tFALSE\t0\t__Secure-a\t1",
        ".example.com\tTRUE\t/\tTRUE\t0\t__Host-a\t1", "a b\tFALSE\t/\tFALSE\t0\ta\t1",
        "www.example.com\tFALSE\t/\tFALSE\t0\t\t1", "www.example.com\tFALSE\t/\tFALSE\t0\ta\t1\t2",
    ])
    func `a broken line costs only itself`(line: String) {
        let found = read("# remark\n\(line)\n \nwww.example.com\tFALSE\t/\tFALSE\t0\tb\t2\r\n")
        #expect(found.skipped.map(\.line) == [2])
        #expect(found.cookies.map(\.pair) == ["b=2"])
    }

    @Test func `name and value keep bytes that are not UTF-8`() {
        let line = Array("example.com\tFALSE\t/\tFALSE\t0\tn\u{E4}me\tcaf".utf8) + [0xE9, 0x0A]
        let found = NetscapeCookies.read(line, .builtIn, now: now)
        #expect(found.skipped.isEmpty)
        #expect(found.cookies.map(\.pairText.bytes) == [Array("n\u{E4}me=caf".utf8) + [0xE9]])
        #expect(NetscapeCookies.write(found.cookies).text.suffix(line.count) == line[...])
        let text = NetscapeCookies.write(found.cookies, asText: true).text
        #expect(String(validating: text, as: UTF8.self)?.hasSuffix("\tcaf\u{E9}\n") == true)
    }

    @Test func `the flag decides, six fields are enough, and fractions of seconds are cut`() {
        let found = read(
            ".www.example.com\tFALSE\t/\tFALSE\t0\ta\n#HttpOnly_example.com\ttrue\t/\tTRUE\t1700000009.5\tb\t2")
        #expect(found.skipped.isEmpty)
        #expect(found.cookies.map(\.isHostOnly) == [true, false])
        #expect(found.cookies.map(\.value) == ["", "2"])
        #expect(found.cookies.last?.expires == 1_700_000_009 * Cookie.second)
    }

    @Test(arguments: [("127.0.0.1:8080", "127.0.0.1"), ("localhost:1", "localhost"), ("[::1]:8080", "::1")])
    func `a port that wget writes is left out`(written: String, domain: String) {
        let found = read("\(written)\tFALSE\t/\tFALSE\t0\ta\t1\nlocalhost:\tFALSE\t/\tFALSE\t0\tb\t2")
        #expect(found.cookies.map(\.domain) == [domain])
        #expect(found.skipped.map(\.line) == [2])
    }

    @Test(arguments: [
        ("", "/"), ("\"\"", "/"), ("\"/\"", "/"), ("\"/a b\"", "/a b"), ("\"", "/"), ("\"/a", "/a"), ("/a\"", "/a\""),
        ("/\"\"", "/\"\""), ("x", nil), ("\"x\"", nil), ("\"\"/a\"\"", nil),
    ])
    func `the quotes around a path are dropped, and an empty path is that of all`(written: String, path: String?) {
        let found = read("example.com\tFALSE\t\(written)\tFALSE\t0\ta\t1")
        #expect(found.cookies.map(\.path) == [path].compactMap(\.self))
        #expect(found.skipped.count == (path == nil ? 1 : 0))
        let again = String(decoding: NetscapeCookies.write(found.cookies).text, as: UTF8.self)
        #expect(read(again).cookies == found.cookies)
    }

    @Test func `no time is that of a cookie of the session`() {
        let found = read("example.com\tFALSE\t/\tFALSE\t\ta\t1\nexample.com\tFALSE\t/\tFALSE\t0\tb\t2")
        #expect(found.skipped.isEmpty)
        #expect(found.cookies.map(\.expires) == [nil, nil])
    }

    @Test func `no cookie of a file lives longer than 400 days`() {
        let found = read("example.com\tFALSE\t/\tFALSE\t4102444800\ta\t1")
        #expect(found.cookies.map(\.expires) == [now + 400 * 86_400 * Cookie.second])
    }
}
