// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct HTTPURLResolvingTests {
    /// RFC 3986 section 5.4, with a host that is a host.
    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
        ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"),
        ("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("/./g", "/g"),
        ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"),
        ("./../g", "/b/g"),
        ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g;x=1/./y", "/b/c/g;x=1/y"),
        ("g;x=1/../y", "/b/c/y"), ("g?y/../x", "/b/c/g?y/../x"), ("g#s/../x", "/b/c/g"),
    ])
    func `a relative reference means what RFC 3986 says`(reference: String, target: String) throws {
        let base = try HTTPURL(parsing: "http://a.example:81/b/c/d;p?q")
        let url = try base.resolve(reference: reference)
        #expect(url.target == target)
        #expect(url.origin == "http://a.example:81")
    }

    @Test(arguments: [
        ("//g/x", "https://g/x"), ("http://g:80/x", "http://g/x"), ("HTTPS://G", "https://g/"),
        ("/caf\u{e9} au lait", "https://h/caf%C3%A9%20au%20lait"), ("  /x\t", "https://h/x"),
        ("?a b", "https://h/p?a%20b"), ("x:y/z", "!"), ("http://u@g/", "!"), ("/a\\b", "!"), ("/a\r\nb", "!"),
        ("ftp://g/", "!"), ("//", "!"),
    ])
    func `a reference may lead elsewhere, but not anywhere`(reference: String, expected: String) throws {
        let base = try HTTPURL(parsing: "https://h/p?q")
        if expected == "!" {
            #expect(throws: HTTPFailure.self) { try base.resolve(reference: reference) }
        } else {
            #expect(try base.resolve(reference: reference).description == expected)
        }
    }

    @Test(arguments: [
        ("/a\\b", "byte 2"), ("a\\b", "byte 1"), ("//h\\b", "byte 3"), (" /a\\b", "byte 2"), ("a\u{7}", "byte 1"),
    ])
    func `the place of a fault is that in the reference`(reference: String, place: String) throws {
        let base = try HTTPURL(parsing: "https://h/long/path?q")
        let failure = #expect(throws: HTTPFailure.self) { try base.resolve(reference: reference) }
        #expect(failure?.message.contains("at \(place):") == true)
    }

    @Test func `the fragment goes on unless the reference brings its own`() throws {
        let base = try HTTPURL(parsing: "http://h/a#top")
        #expect(try base.resolve(reference: "/b").fragment == "top")
        #expect(try base.resolve(reference: "/b#end").fragment == "end")
        #expect(try base.resolve(reference: "http://g/").fragment == "top")
    }

    @Test func `a relative reference stays on the socket`() throws {
        let base = try HTTPURL(parsing: "http+unix://%2Fa.sock/x/y")
        #expect(try base.resolve(reference: "z").description == "http+unix://%2Fa.sock/x/z")
        #expect(try base.resolve(reference: "http://h/z").socketPath == nil)
    }
}
