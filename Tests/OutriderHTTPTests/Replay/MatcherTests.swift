// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

/// Which requests are the same for a cassette.
@Suite struct MatcherTests {
    private static func request(_ url: String, _ body: String = "") -> ReplayRequest {
        ReplayRequest(
            method: "POST", url: url, fields: [HTTPFields.Field("Content-Type", "application/json")],
            body: Array(body.utf8))
    }

    private static func areSame(_ one: ReplayRequest, _ two: ReplayRequest, ignoring pointers: [String] = []) -> Bool {
        var matcher = RequestMatcher()
        matcher.ignoredBody = pointers
        return matcher.key(of: one) == matcher.key(of: two)
    }

    @Test(arguments: [
        ("/j/***", "/j/%2A%2A%2A"), ("/j/***", "/j/%2a%2a%2a"), ("/j?t=***", "/j?t=Kioq"), ("/j/a***b", "/j/a2a2a2ab"),
    ])
    func `a mask that a program has encoded is a mask`(recorded: String, wanted: String) {
        #expect(Self.areSame(Self.request("http://a.example" + recorded), Self.request("http://a.example" + wanted)))
        #expect(!Self.areSame(Self.request("http://a.example" + recorded), Self.request("http://a.example/j/Kio")))
    }

    @Test(arguments: [(#"{"v":"***"}"#, #"{"v":"Kioq"}"#), (#"{"v":"a=***"}"#, #"{"v":"a=%2A%2A%2A"}"#)])
    func `an encoded mask in a body is a mask`(recorded: String, wanted: String) {
        let url = "http://a.example/"
        #expect(Self.areSame(Self.request(url, recorded), Self.request(url, wanted)))
    }

    @Test(arguments: [
        ("1234567890123456789", "1234567890123456790", false), ("9007199254740993", "9007199254740992.0", false),
        ("18446744073709551615", "18446744073709551614", false), ("18446744073709551615", "18446744073709551615", true),
        ("1", "1.0", true), ("1000", "1e3", true), ("0", "-0.0", true), ("1.10", "1.1", true), ("1", "true", false),
    ])
    func `each digit of an integer counts`(one: String, two: String, isSame: Bool) {
        let url = "http://a.example/"
        #expect(Self.areSame(Self.request(url, one), Self.request(url, two)) == isSame)
        #expect(RequestMatcher.areSame(Array(one.utf8), Array(two.utf8)) == isSame)
    }

    @Test func `names and fields are the same that have the same bytes`() {
        // Swift's equality of texts takes both for the same
        let texts = ["\u{E9}", "e\u{301}"]
        var matcher = RequestMatcher()
        matcher.fields = ["X-A"]
        let keys = texts.map { text in
            let field = HTTPFields.Field("X-A", text)
            return matcher.key(of: ReplayRequest(method: "GET", url: "http://a.example/", fields: [field], body: []))
        }
        #expect(keys[0] != keys[1])
        matcher.ignoredQuery = ["\u{E9}"]
        let urls = ["?%C3%A9=1", "?e%CC%81=1", ""].map { matcher.key(of: Self.request("http://a.example/" + $0)) }
        #expect(urls[0] == urls[2] && urls[1] != urls[2])
    }

    @Test(arguments: [("q=1+2", "q=1%202", true), ("q=1%2B2", "q=1+2", false), ("a=1&b=2", "b=2&a=1", true)])
    func `a plus sign in a query is a space`(one: String, two: String, isSame: Bool) {
        let (first, second) = (Self.request("http://a.example/?" + one), Self.request("http://a.example/?" + two))
        #expect(Self.areSame(first, second) == isSame)
    }

    @Test(arguments: [
        ("a=1%26b=2", "a=1&b=2", false), ("a%3Db=c", "a=b%3Dc", false), ("a=b=c", "a=b%3Dc", true),
        ("q=%E9", "q=%E8", false), ("q=%e9", "q=%E9", true), ("q=%27", "q='", true), ("%61=1", "a=1", true),
        ("q=%C3%A9", "q=e%CC%81", false),
    ])
    func `pairs are the same that have the same bytes`(one: String, two: String, isSame: Bool) {
        let (first, second) = (Self.request("http://a.example/?" + one), Self.request("http://a.example/?" + two))
        #expect(Self.areSame(first, second) == isSame)
        func form(_ body: String) -> ReplayRequest {
            let type = HTTPFields.Field("Content-Type", "application/x-www-form-urlencoded")
            return ReplayRequest(method: "POST", url: "http://a.example/", fields: [type], body: Array(body.utf8))
        }
        #expect(Self.areSame(form(one), form(two)) == isSame)
    }

    @Test(arguments: [
        (#"{"a":1,"ts":5}"#, #"{"a":1}"#, true), (#"{"a":1,"ts":5}"#, #"{"ts":null,"a":1}"#, true),
        (#"{"a":1,"ts":5}"#, #"{"a":2}"#, false),
        (#"{"l":[{"t":1,"b":1},{"b":2}]}"#, #"{"l":[{"b":1},{"t":3,"b":2}]}"#, true),
        (#"{"l":[{"b":1}]}"#, #"{"l":[{"b":1},{"t":1}]}"#, false), (#"{"p":[1,2]}"#, #"{"p":[7,2]}"#, true),
        (#"{"p":[1,2]}"#, #"{"p":[7,3]}"#, false),
    ])
    func `a member that is ignored may be absent`(one: String, two: String, isSame: Bool) {
        let url = "http://a.example/"
        let pointers = ["/ts", "/l/*/t", "/p/0"]
        #expect(Self.areSame(Self.request(url, one), Self.request(url, two), ignoring: pointers) == isSame)
    }
}
