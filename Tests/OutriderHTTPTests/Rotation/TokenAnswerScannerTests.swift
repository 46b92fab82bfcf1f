// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What token endpoints say, and what must not be believed.
@Suite struct TokenAnswerScannerTests {
    private static func scan(_ text: String) -> TokenAnswerScanner.Outcome { TokenAnswerScanner.scan(Array(text.utf8)) }

    private static func answer(_ text: String) throws -> TokenAnswer {
        guard case .whole(let answer) = scan(text) else { throw PackedFault() }
        return answer
    }

    @Test func `an answer with everything`() throws {
        let answer = try Self.answer(
            #"""
            { "access_token" : "a\u002fb\ud83d\ude00" , "token_type":"bearer","expires_in":3600,"refresh_token":"r",
              "scope":"x y","id_token":"i","more":{"a":[1,{"b":null}]},"n":-1.5e3,"t":true}
            """#
        )
        #expect(answer.accessToken == Secret("a/b😀"))
        #expect(answer.type == "bearer")
        #expect(answer.refreshToken == Secret("r"))
        #expect(answer.scope == ["x", "y"])
        #expect(answer.expiresIn == 3600)
        #expect(answer.idToken == Secret("i"))
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
        let answer = try Self.answer(#"{"access_token":"a","expires_in":\#(text)}"#)
        #expect(answer.expiresIn == seconds)
        #expect(answer.accessToken == Secret("a"))
    }

    @Test(
        "what is no answer is refused",
        arguments: [
            "[]", "<html>", "null", "1", #"{"a":1}x"#, #"{"a" 1}"#, #"{a:1}"#, #"{"access_token":1}"#,
            #"{"access_token":["a"]}"#, #"{"access_token":"a","access_token":"b"}"#, #"{"refresh_token":{}}"#,
            #"{"a":"\ud800"}"#, #"{"a":"\x"}"#, "{\"a\":\"\u{1}\"}", #"{"a":tru3}"#, #"{"a":--}"#, #"{"a":1,}"#,
            #"{"a":"# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}",
        ])
    func refused(text: String) {
        #expect(Self.scan(text) == .malformed)
    }

    @Test func `every beginning of an answer is cut, and keeps what was whole`() throws {
        let bytes = Array(#"{"access_token":"aa","n":[1,true],"refresh_token":"rr","expires_in":60}"#.utf8)
        for count in 0..<bytes.count {
            guard case .cut(let answer) = TokenAnswerScanner.scan(Array(bytes[..<count])) else {
                Issue.record("\(count)")
                continue
            }
            let text = String(decoding: bytes[..<count], as: UTF8.self)
            #expect((answer.accessToken != nil) == text.contains(#""aa""#))
            #expect((answer.refreshToken != nil) == text.contains(#""rr""#))
        }
    }

    @Test func `bytes that are no text, and an answer of megabytes, are refused`() {
        #expect(TokenAnswerScanner.scan(Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8)) == .malformed)
        let long = String(repeating: "x", count: 5 << 20)
        #expect(Self.scan(#"{"access_token":"\#(long)"}"#) == .malformed)
    }

    @Test func `no change of one byte makes it trap`() {
        let bytes = Array(#"{"access_token":"a\u00e9","expires_in":-1.5e3,"x":[{},null],"refresh_token":"r"}"#.utf8)
        for index in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = bytes
                changed[index] = byte
                if case .whole(let answer) = TokenAnswerScanner.scan(changed) {
                    #expect(answer.expiresIn.map { $0 > 0 && $0 <= 315_360_000 } ?? true)
                }
            }
        }
    }
}
