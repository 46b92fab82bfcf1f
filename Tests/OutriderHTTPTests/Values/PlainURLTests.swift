// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// URLs that are read in one pass, and those that are left to the whole reader.
struct PlainURLTests {
    @Test(arguments: [
        "http://localhost/", "https://example.org/a/b.c?d=e&f=/?", "http://127.0.0.1:8080/a..b/c.", "https://a-1.b:80/",
        "http://x:65535/a;b=c,d@e:f!$&()*+~_-?g:h@i", "http://a//b",
    ])
    func `a URL in its final form is read in one pass, and keeps its text`(_ text: String) throws {
        let url = try #require(PlainURL.read(text))
        var reader = URLReader(text)
        #expect(try url == reader.read())
        #expect(url.description == text)
    }

    @Test(arguments: [
        "", "http://", "http:///", "http://a", "http://a?b", "HTTP://a/", "ws://a/", "http://A/", "http://a./",
        "http://.a/", "http://1/", "http://0x7f/", "http://127.0.0.01/", "http://256.1.1.1/", "http://a@b/",
        "http://a:80/", "https://a:443/", "http://a:/", "http://a:0/", "http://a:08/", "http://a:65536/",
        "http://a:123456/", "http://a:1x/", "http://a/.", "http://a/./", "http://a/..", "http://a/?b=/.c",
        "http://a/%41",
        "http://a/ ", "http://a/#b", "http://a/'", "http://a/[", "http://a/\\", "http://a/\u{e9}", "http://[::1]/",
        "http://a/\u{7F}", "http://\u{e9}/", "http://a_b/",
    ])
    func `any other text is left to the whole reader`(_ text: String) {
        #expect(PlainURL.read(text) == nil)
    }

    @Test func `whatever is read in one pass is what the whole reader makes of it`() throws {
        let samples = ["https://example.org:8443/a.b/c?d=e", "http://127.0.0.1/x", "http://localhost:80/?a=b"]
        var read = 0
        for text in Mutations(of: samples, count: 40_000, seed: 7, spice: "/\\:@?#[]%.0189azAZ-_~'+;, ") {
            guard let url = PlainURL.read(text) else { continue }
            read += 1
            var reader = URLReader(text)
            let whole = try reader.read()
            #expect(url == whole && url.description == whole.description, "\(text.debugDescription)")
        }
        #expect(read > 1000)
    }

    @Test func `a changed URL is described anew, and its copies stay`() throws {
        let url = try HTTPURL(parsing: "http://localhost/a")
        var changed = url
        changed.append(query: "b=c")
        #expect(changed.description == "http://localhost/a?b=c" && url.description == "http://localhost/a")
        changed.port = 81
        #expect(changed.description == "http://localhost:81/a?b=c" && changed != url)
    }
}
