// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What token endpoints say, and what must not be believed.
@Suite struct TokenResponseScannerTests {
    private static func scan(_ text: String) -> TokenResponseScanner.Outcome {
        TokenResponseScanner.scan(Array(text.utf8))
    }

    private static func response(_ text: String) throws -> TokenResponse {
        guard case .whole(let response) = scan(text) else { throw PackedFault() }
        return response
    }

    @Test func `a response with everything`() throws {
        let response = try Self.response(
            #"""
            { "access_token" : "a\u002fb" , "token_type":"bearer","expires_in":3600,"refresh_token":"r",
              "scope":"x y\ud83d\ude00","id_token":"i","more":{"a":[1,{"b":null}]},"n":-1.5e3,"t":true}
            """#
        )
        #expect(response.accessToken == Secret("a/b"))
        #expect(response.type == "bearer")
        #expect(response.refreshToken == Secret("r"))
        #expect(response.scope == ["x", "y😀"])
        #expect(response.expiresIn == 3600)
        #expect(response.idToken == Secret("i"))
    }

    private static func form(_ text: String, isComplete: Bool = true) -> TokenResponse? {
        switch TokenResponseScanner.scan(Array(text.utf8), isComplete: isComplete) {
        case .whole(let response): response
        default: nil
        }
    }

    @Test func `a form is read as JSON is`() throws {
        let text = "access_token=a%2Fb%7Cc&token_type=bearer&expires_in=3600&refresh_token=r&scope=x+y%20z&more=1\n"
        let response = try #require(Self.form(text))
        #expect(response.accessToken == Secret("a/b|c") && response.refreshToken == Secret("r"))
        #expect(response.type == "bearer" && response.expiresIn == 3600 && response.scope == ["x", "y", "z"])
        // the end of a form does not show in the form
        #expect(Self.form(text, isComplete: false) == nil)
        #expect(Self.form("access_token=a&expires=60")?.expiresIn == 60)
        #expect(Self.form("access_token=a&expires=60&expires_in=5")?.expiresIn == 5)
        let refusal = Self.form("error=invalid_grant&error_description=it+is+old")
        #expect(refusal?.error == "invalid_grant" && refusal?.errorDescription == "it is old")
        #expect(Self.form("access_token=a%0Ab")?.fault == "access_token")
        #expect(Self.form("access_token=a%FFb")?.fault == "access_token")
    }

    @Test(arguments: [
        "", "\n", "access_token", "access_token=", "refresh_token=r", "error=", "a=b", "Sign in: access_token=a",
        "access_token=a&access_token=b", "error=a&error=b", "<p>access_token=a", "\"access_token=a\"",
        "https://a.example/?access_token=a", "{access_token=a}", "access_token=\u{E4}",
        "access_token=" + String(repeating: "a", count: 128 << 10),
    ])
    func `a text that is no form of tokens is none`(text: String) { #expect(Self.form(text) == nil) }

    @Test(arguments: [
        ("bearer", "Bearer"), ("BEARER", "Bearer"), ("Bot", "Bearer"), ("user", "Bearer"), ("JWT", "JWT"),
        ("", "Bearer"),
    ])
    func `the scheme for a token is spelled as servers expect it`(type: String, scheme: String) throws {
        let response = try Self.response(#"{"access_token":"a","token_type":"\#(type)"}"#)
        #expect(response.access(sentAt: ClockPair(wall: 0, boot: 0))?.type == scheme)
        let given = AccessToken(Secret("a"), type: "bot", obtained: ClockPair(wall: 0, boot: 0))
        #expect(given.type == "bot")
    }

    @Test(
        "lifetimes are clamped to what makes sense",
        arguments: [
            ("3600", 3600.0), (#""3600""#, 3600), ("-1", nil), ("0", nil), ("1e18", 315_360_000),
            ("1e400", 315_360_000),
            ("null", nil), (#""soon""#, nil), ("true", nil), ("[]", nil), (#""nan""#, nil), ("0.5", 0.5),
            ("99999999999999999999999999", 315_360_000),
        ] as [(String, Double?)])
    func lifetimes(text: String, seconds: Double?) throws {
        let response = try Self.response(#"{"access_token":"a","expires_in":\#(text)}"#)
        #expect(response.expiresIn == seconds)
        #expect(response.accessToken == Secret("a"))
    }

    @Test(
        "what is no response is refused",
        arguments: [
            "[]", "<html>", "null", "1", #"{"a":1}x"#, #"{"a" 1}"#, #"{a:1}"#, #"{"access_token":1}"#,
            #"{"access_token":["a"]}"#, #"{"access_token":"a","access_token":"b"}"#, #"{"refresh_token":{}}"#,
            #"{"a":"\x"}"#, #"{"access_token":"a","x":1,"access_token":"b"}"#, #"{"a":tru3}"#,
            #"{"refresh_token":"a","refresh_token":null}"#, #"{"a":--}"#, #"{"a":1,}"#,
            #"{"a":"# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}",
        ])
    func refused(text: String) {
        #expect(Self.scan(text) == .malformed)
    }

    @Test func `every beginning of a response is cut, and keeps what was whole`() throws {
        let bytes = Array(#"{"access_token":"aa","n":[1,true],"refresh_token":"rr","expires_in":60}"#.utf8)
        for count in 0..<bytes.count {
            guard case .cut(let response) = TokenResponseScanner.scan(Array(bytes[..<count])) else {
                Issue.record("\(count)")
                continue
            }
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            #expect((response.accessToken != nil) == text.contains(#""aa""#))
            #expect((response.refreshToken != nil) == text.contains(#""rr""#))
        }
    }

    @Test(
        "what is odd about unknown members harms no token",
        arguments: [
            Array(#""name":"x\ud83d""#.utf8), Array(#""name":"x\ud83d\n\ud83d""#.utf8), Array(#""x\udc00":"y""#.utf8),
            Array(#""name":"M"#.utf8) + [0xFC] + Array(#"ller""#.utf8), [0x22, 0xFF, 0x22] + Array(":1".utf8),
            Array("\"name\":\"a\tb\"".utf8), Array("\"name\":[{\"a\":\"\u{1}\"}]".utf8), Array(#""x":1,"x":2"#.utf8),
            Array(#""error":false"#.utf8), Array(#""error":"""#.utf8), Array(#""error":null"#.utf8),
            Array(#""id_token":7"#.utf8), Array(#""access_token":"a""#.utf8), Array(#""refresh_token":"r""#.utf8),
        ])
    func odd(member: [UInt8]) {
        let tokens = Array(#""access_token":"a","refresh_token":"r""#.utf8)
        let comma: [UInt8] = [0x2C]
        for beginning: [UInt8] in [[0x7B], [0xEF, 0xBB, 0xBF, 0x7B]] {
            for members: [UInt8] in [tokens + comma + member, member + comma + tokens] {
                guard case .whole(let response) = TokenResponseScanner.scan(beginning + members + [0x7D]) else {
                    Issue.record("\(String(decoding: members, as: UTF8.self))")
                    continue
                }
                #expect(response.accessToken == Secret("a") && response.refreshToken == Secret("r"))
                #expect(response.error == nil && response.fault == nil)
            }
        }
    }

    @Test(
        "a token with characters that no token has is none",
        arguments: [
            (#""access_token":"a\nb""#, "access_token"), (#""access_token":"a\u0000b""#, "access_token"),
            (#""access_token":"a\u007f""#, "access_token"), (#""access_token":"tok\u00e9n""#, "access_token"),
            (#""access_token":"\ud800""#, "access_token"), (#""refresh_token":"a\r\nb""#, "refresh_token"),
            (#""refresh_token":"\udc00""#, "refresh_token"), (#""token_type":"mac\r\nX: y""#, "token_type"),
            (#""token_type":"a b""#, "token_type"), (#""token_type":"\ud800""#, "token_type"),
        ])
    func unusable(member: String, name: String) throws {
        #expect(try Self.response("{\(member)}").fault == name)
    }

    @Test func `what is no JSON any more after both tokens does not take them away`() {
        let tokens = #""access_token":"a","refresh_token":"r""#
        for rest in ["x", #","a":tru3}"#, "}x", ",}", #","a":"\x"}"#] {
            guard case .cut(let response) = Self.scan("{\(tokens)\(rest)") else {
                Issue.record("\(rest)")
                continue
            }
            #expect(response.accessToken == Secret("a") && response.refreshToken == Secret("r"))
        }
        // but for another one in their place
        #expect(Self.scan(#"{\#(tokens),"refresh_token":"s"}"#) == .malformed)
    }

    @Test func `a response of megabytes is refused`() {
        let long = String(repeating: "x", count: 5 << 20)
        #expect(Self.scan(#"{"access_token":"\#(long)"}"#) == .malformed)
    }

    @Test func `no change of one byte makes it trap`() {
        let bytes = Array(#"{"access_token":"a\u00e9","expires_in":-1.5e3,"x":[{},null],"refresh_token":"r"}"#.utf8)
        for index in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = bytes
                changed[index] = byte
                if case .whole(let response) = TokenResponseScanner.scan(changed) {
                    #expect(response.expiresIn.map { $0 > 0 && $0 <= 315_360_000 } ?? true)
                }
            }
        }
    }
}
