// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("text/html", "text/html", nil),
        ("Text/HTML; Charset=UTF-8", "text/html", "UTF-8"),
        ("text/html;charset=\"utf-8\"", "text/html", "utf-8"),
        ("text/html ; charset=utf-8", "text/html", "utf-8"),
        ("text/html;charset=utf-8;", "text/html", "utf-8"),
        ("text/html;;charset=utf-8", "text/html", "utf-8"),
        ("text/html; charset", "text/html", nil),
        ("text/html; charset=", "text/html", nil),
        ("text/html; charset=a; charset=b", "text/html", "a"),
        ("text/html; charset=\"a\\\"b\"", "text/html", "a\"b"),
        ("text/html; charset=\"open", "text/html", "open"),
        ("text/html; x=\";charset=no\"; charset=yes", "text/html", "yes"),
        ("application/vnd.api+json; v=1", "application/vnd.api+json", nil),
        ("*/*", "*/*", nil),
    ])
    func `a media type is read with its charset`(text: String, essence: String, charset: String?) throws {
        let type = try #require(MediaType(parsing: text))
        #expect(type.essence == essence)
        #expect(type.charset == charset)
    }

    @Test(arguments: [
        "", "text", "text/", "/html", "te xt/html", "text/html charset=x", "text//html", " text/html", "t\u{e9}/x",
    ])
    func `what is no media type is nothing`(text: String) {
        #expect(MediaType(parsing: text) == nil)
    }

    @Test(arguments: [
        ("text/html", "text/html", true), ("text/html", "text/*", true), ("text/html", "*/*", true),
        ("text/html", "text/plain", false), ("text/html", "image/*", false), ("text/html;a=b", "text/html;c=d", true),
    ])
    func `a pattern names a family`(type: String, pattern: String, matches: Bool) throws {
        #expect(try #require(MediaType(parsing: type)).matches(#require(MediaType(parsing: pattern))) == matches)
    }

    @Test(arguments: [
        ("application/json", true, true), ("application/problem+json", true, true), ("text/json", true, true),
        ("application/jsonp", false, false), ("application/xml", false, true), ("image/svg+xml", false, true),
        ("text/plain", false, true), ("application/octet-stream", false, false), ("image/png", false, false),
        ("application/javascript", false, true), ("application/x-ndjson", false, true),
        ("application/yaml", false, true),
    ])
    func `JSON and text are told from the rest`(text: String, isJSON: Bool, isTextual: Bool) throws {
        let type = try #require(MediaType(parsing: text))
        #expect(type.isJSON == isJSON)
        #expect(type.isTextual == isTextual)
    }

    @Test func `parameters are quoted where they must be`() {
        let type = MediaType("a", "b", parameters: [.init(name: "c", value: "d e\"\\"), .init(name: "f", value: "g")])
        #expect(type.description == #"a/b; c="d e\"\\"; f=g"#)
        #expect(MediaType(parsing: type.description) == type)
    }
}
