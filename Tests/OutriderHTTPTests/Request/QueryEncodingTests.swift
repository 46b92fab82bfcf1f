// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct QueryEncodingTests {
    private static func object(_ json: String) throws -> JSONObject {
        try #require(try JSONParser.parse(Array(json.utf8)).object)
    }

    private static func query(_ json: String) throws -> String {
        try QueryEncoding().encode(object(json), at: "/query")
    }

    private static let queries: [(String, String)] = [
        ("{}", ""),
        (#"{"a":"a"}"#, "a=a"),
        (#"{"b":1,"a":2}"#, "b=1&a=2"),
        (#"{"a":1.0,"b":0.1,"c":1e300}"#, "a=1.0&b=0.1&c=1e300"),
        (#"{"a":true,"b":false}"#, "a=1&b=0"),
        (#"{"a":null,"b":"x"}"#, "b=x"),
        (#"{"a":["x",2,true,null]}"#, "a=x&a=2&a=1"),
        (#"{"a":[]}"#, ""),
        (#"{"a":{"b":1,"c":[2]}}"#, "a%5Bb%5D=1&a%5Bc%5D=2"),
        (#"{"q":" a+b&c=d/e?f#g%"}"#, "q=%20a%2Bb%26c%3Dd/e?f%23g%25"),
        (#"{"":""}"#, "="),
        (#"{"k y":""}"#, "k%20y="),
        ("{\"fran\u{e7}ais\":\"\u{1F600}\"}", "fran%C3%A7ais=%F0%9F%98%80"),
        (##"{"r":":#[]@!$&'()*+,;="}"##, "r=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
        (#"{"n":"a\r\nb\u0000"}"#, "n=a%0D%0Ab%00"),
        (#"{"i":-9223372036854775808}"#, "i=-9223372036854775808"),
    ]

    @Test(arguments: queries)
    func `names and values become a query`(json: String, query: String) throws {
        #expect(try Self.query(json) == query)
    }

    @Test func `names may repeat where they come from a list`() throws {
        let members = [JSONObject.Member("b", .integer(1)), .init("a", .integer(2)), .init("b", .integer(3))]
        #expect(try QueryEncoding().encode(JSONObject(members: members), at: "") == "b=1&a=2&b=3")
    }

    @Test func `every character of ASCII is escaped or kept as RFC 3986 says`() throws {
        let kept = Set("-._~/?0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        for byte in UInt8(0)..<0x80 {
            let character = String(Unicode.Scalar(byte))
            let query = try QueryEncoding().encode(JSONObject(members: [.init("k", .string(character))]), at: "")
            let digits = String(byte, radix: 16, uppercase: true)
            let escaped = "%" + (digits.count == 1 ? "0" : "") + digits
            #expect(query == "k=" + (kept.contains(byte) ? character : escaped))
        }
    }

    private static let forms: [(String, String)] = [
        ("{}", ""),
        (#"{"a":"b c","d":"e+f"}"#, "a=b+c&d=e%2Bf"),
        (#"{"a":"*-._~"}"#, "a=*-._%7E"),
        (#"{"a":"/?"}"#, "a=%2F%3F"),
        (#"{"":"a"}"#, "=a"),
        ("{\"\u{e9}\":\"\u{20ac}\"}", "%C3%A9=%E2%82%AC"),
        (#"{"a":[1,2]}"#, "a=1&a=2"),
        (#"{"a":"x\r\ny"}"#, "a=x%0D%0Ay"),
    ]

    @Test(arguments: forms)
    func `a form is written as browsers write it`(json: String, body: String) throws {
        #expect(try FormEncoding().encode(Self.object(json), at: "/body/form") == body)
    }

    @Test func `a long text of another script works`() throws {
        let text = String(repeating: "\u{4e2d}", count: 20_000)
        #expect(try Self.query("{\"q\":\"\(text)\"}").utf8.count == 2 + 9 * 20_000)
    }
}
