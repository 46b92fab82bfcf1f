// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

@Suite struct ShownPairsTests {
    @Test func `cookies that are sent are pairs`() {
        let fields: HTTPFields = [.init("Cookie", "a=b; c = d=e ;f"), .init("cookie", "g=")]
        #expect(ShownCookie.sent(fields).map { "\($0.name):\($0.value)" } == ["a:b", "c:d=e", "f:", "g:"])
    }

    @Test func `cookies that come have attributes in any case`() {
        let fields: HTTPFields = [
            .init(
                "Set-Cookie", "a=b=c; PATH=/x; domain=a.test; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly;secure"),
            .init("Set-Cookie", "; ;="), .init("Set-Cookie", ""),
        ]
        let cookies = ShownCookie.received(fields)
        #expect(cookies.count == 3)
        #expect(
            cookies[0]
                == ShownCookie(
                    name: "a", value: "b=c", path: "/x", domain: "a.test", expires: "Wed, 21 Oct 2026 07:28:00 GMT",
                    isHTTPOnly: true, isSecure: true))
        #expect(cookies[1] == ShownCookie(name: "", value: ""))
        #expect(cookies[2] == ShownCookie(name: "", value: ""))
    }

    @Test(arguments: [
        ("http://h/", []), ("/?", []), ("/?a=b&c", ["a:b", "c:"]), ("/?a%20b=%C3%A4+%2B#x?y=z", ["a b:ä +"]),
        ("/?=x&&y==", [":x", "y:="]), ("/?%=%z", ["%:%z"]),
    ])
    func `the pairs of a query are decoded`(url: String, pairs: [String]) {
        #expect(QueryPairs.of(url).map { "\($0.name):\($0.value)" } == pairs)
    }

    @Test func `any text has cookies and pairs`() {
        for text in Mutations(of: ["a=b; Path=/; c", "/?a=b&c=%20#d"], count: 2000, seed: 3, spice: "=;&?%+") {
            let fields: HTTPFields = [.init("Cookie", text), .init("Set-Cookie", text)]
            #expect(ShownCookie.sent(fields).allSatisfy { !$0.name.utf8.contains(UInt8(ascii: ";")) })
            #expect(ShownCookie.received(fields).count == 1)
            #expect(QueryPairs.of(text).count <= text.utf8.count)
        }
    }
}
