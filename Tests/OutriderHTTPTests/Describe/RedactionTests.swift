// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

@Suite struct RedactionTests {
    @Test(arguments: [
        ("http://h/a", "http://h/a"),
        ("http://h/?", "http://h/?"),
        ("http://h/?a=b&access_token=x&c", "http://h/?a=b&access_token=***&c"),
        ("/?key=1&&sig=2#token=3", "/?key=***&&sig=***#token=***"),
        ("/?user%5Bpassword%5D=x", "/?user%5Bpassword%5D=***"),
        ("/?token=&monkey=1", "/?token=&monkey=1"),
        ("/?API_KEY=1?2", "/?API_KEY=***"),
        ("/cb?state=s&code=c", "/cb?state=s&code=***"),
        ("/?password%5B%5D=x&otp[0]=y", "/?password%5B%5D=***&otp[0]=***"),
        ("http://h/#access_token=x&state=y", "http://h/#access_token=***&state=y"),
        ("http://h/?a=1#/route?id_token=x", "http://h/?a=1#/route?id_token=***"),
        ("http://user:pass@h/a?token=x", "http://***@h/a?token=***"),
        ("//user:p@ss@h", "//***@h"),
        ("5; url=https://user:pass@h/", "5; url=https://***@h/"),
        ("/a@b", "/a@b"), ("http://h/@a", "http://h/@a"), ("mailto:a@b", "mailto:a@b"),
    ])
    func `secrets in a URL are masked [AA10]`(url: String, masked: String) {
        #expect(Redaction.masked.url(url) == masked)
        #expect(Redaction.none.url(url) == url)
    }

    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"b"}"#),
        (#"{"password" : "x\"y","n":1}"#, #"{"password" : "***","n":1}"#),
        (
            #"{"a":{"client_secret":"x"},"max_tokens":5,"token":[1,"x"]}"#,
            #"{"a":{"client_secret":"***"},"max_tokens":5,"token":["***","***"]}"#
        ),
        (#"["password","x"]"#, #"["password","x"]"#),
        (#"{"a":"password","b":"x"}"#, #"{"a":"password","b":"x"}"#),
        (#"{"token":"unfinished"#, #"{"token":"***""#),
        (#"{"token":"x\"#, #"{"token":"***""#),
        (#"{"otp":123456,"pin":-1.5e3,"n":7}"#, #"{"otp":"***","pin":"***","n":7}"#),
        (
            #"{"secret":{"a":"x","b":[true,null,"y"]},"c":"z"}"#,
            #"{"secret":{"a":"***","b":[true,null,"***"]},"c":"z"}"#
        ),
        (#"{"tokens":{"used":5,"text":"x"}}"#, #"{"tokens":{"used":5,"text":"x"}}"#),
        (#"{"pass\u0077ord":"x"}"#, #"{"pass\u0077ord":"***"}"#),
        (#"[{"jwt":"x"},{"jwt":"y"}]"#, #"[{"jwt":"***"},{"jwt":"***"}]"#),
    ])
    func `values under telling names in JSON are masked, and the rest stays [AA10]`(json: String, masked: String) {
        let bytes = Redaction.masked.body(Array(json.utf8), contentType: "application/problem+json; charset=utf-8")
        #expect(String(decoding: bytes, as: UTF8.self) == masked)
    }

    @Test func `secrets in a form are masked, other bodies stay`() {
        let form = Array("grant_type=x&refresh_token=y&client_secret=z".utf8)
        let masked = Redaction.masked.body(form, contentType: "application/x-www-form-urlencoded; charset=utf-8")
        #expect(masked == Array("grant_type=x&refresh_token=***&client_secret=***".utf8))
        #expect(Redaction.masked.body(form, contentType: "text/plain") == form)
        #expect(Redaction.masked.body(form, contentType: nil) == form)
    }

    @Test func `any bytes can be masked`() {
        var random = SeededRandom(seed: 7)
        let letters = Array(#""\:{}, tokenpassword=&?%5[]"#.utf8)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                letters[Int.random(in: 0..<letters.count, using: &random)]
            }
            for type in ["application/json", "application/x-www-form-urlencoded"] {
                let once = Redaction.masked.body(bytes, contentType: type)
                #expect(Redaction.masked.body(once, contentType: type) == once)
            }
        }
    }
}
