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
        ("5; url=https://user:pass@h/", "***@h/"),
        ("/a@b", "/a@b"), ("http://h/@a", "http://h/@a"), ("mailto:a@b", "***@b"),
    ])
    func `secrets in a URL are masked [AA10]`(url: String, masked: String) {
        #expect(Redaction.masked.url(url) == masked)
        #expect(Redaction.none.url(url) == url)
    }

    @Test(arguments: [
        ("ada:s3cret@h:1/", "***@h:1/"), ("ada@h:s3cret@i", "***@i"),
        ("http:///ada:s3cret@h/", "http:///***@h/"), ("http:/ada:s3cret@h/", "http:/***@h/"),
        ("HTTP:ada:s3cret@h/", "HTTP:***@h/"), (#"http:\\ada:s3cret@h/"#, #"http:\\***@h/"#),
        (#"\\ada:s3cret@h/"#, #"\\***@h/"#), (#"/\ada:s3cret@h/"#, #"/\***@h/"#),
        ("http://ada:s3cret/x@h/", "http://***@h/"), ("http://ada:x?s3cret@h/", "http://***@h/"),
        ("h ttp://ada:s3cret@h/", "***@h/"), ("ssh://ada:s3cret@h/", "ssh://***@h/"),
        ("http://h/a:b@c?d=e@f", "http://h/a:b@c?d=e@f"), ("?a=b@c", "?a=b@c"), ("#a@b", "#a@b"), ("/", "/"),
    ])
    func `a password in a text that is no URL is masked`(text: String, masked: String) {
        #expect(Redaction.masked.url(text) == masked)
    }

    @Test(arguments: [true, false], [true, false])
    func `secrets of JSON in UTF-16 are masked`(isLittle: Bool, hasMark: Bool) {
        func wide(_ text: String) -> [UInt8] {
            ((hasMark ? "\u{FEFF}" : "") + text).utf16.flatMap { unit -> [UInt8] in
                let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
                return isLittle ? [low, high] : [high, low]
            }
        }
        let type = "application/json" + (hasMark ? "" : "; charset=utf-16" + (isLittle ? "le" : "be"))
        let body = wide(#"{"access_token":"hush-hush-😀","a":"ä"}"#)
        let masked = wide(#"{"access_token":"***","a":"ä"}"#)
        #expect(Redaction.masked.body(body, contentType: type) == masked)
        #expect(Redaction.masked.body(masked, contentType: type) == masked)
        #expect(Redaction.none.body(body, contentType: type) == body)
        #expect(CassetteMask().body(body, type) == masked)
        var mask = CassetteMask()
        mask.values.add(mask.secrets(of: [HTTPFields.Field("Content-Type", type)], body: body))
        #expect(mask.values.replaced("hush-hush-😀") == "***")
        mask.values.add("known-value")
        #expect(mask.body(wide("known-value"), "text/plain; charset=utf-16" + (isLittle ? "le" : "be")) == wide("***"))
        // half of a character at the end
        #expect(CassetteMask().body(body + [0], type) == masked)
    }

    @Test(arguments: [true, false])
    func `secrets of JSON in UTF-32 are masked`(isLittle: Bool) {
        func wide(_ text: String) -> [UInt8] {
            ("\u{FEFF}" + text).unicodeScalars.flatMap { scalar -> [UInt8] in
                let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: scalar.value >> $0) }
                return isLittle ? bytes.reversed() : bytes
            }
        }
        let body = wide(#"{"access_token":"hush-hush-😀","a":"ä"}"#)
        let masked = wide(#"{"access_token":"***","a":"ä"}"#)
        #expect(Redaction.masked.body(body, contentType: "application/json") == masked)
        #expect(Redaction.none.body(body, contentType: "application/json") == body)
        // half of a character at the end
        #expect(CassetteMask().body(body + [0, 0], "application/json") == masked)
    }

    @Test(arguments: [
        (
            "Link", #"<http://h/a?page_token=x>; rel="next", </b?c=d>; rel="last""#,
            #"<http://h/a?page_token=***>; rel="next", </b?c=d>; rel="last""#
        ),
        ("link", #"<http://ada:s3cret@h/>; title="a@b?token=c""#, #"<http://***@h/>; title="a@b?token=c""#),
        ("Link", "<http://h/?token=x", "<http://h/?token=***"), ("Link", "", ""),
        ("Link", "</a>, </?token=x", "</a>, </?token=***"),
        ("Refresh", "5; url='/a?token=x'; b", "5; url='/a?token=***'; b"),
        ("Refresh", #"5; url="/a?token=x"#, #"5; url="/a?token=***"#),
        ("Refresh", "5; url=/a?token=x", "5; url=/a?token=***"), ("Refresh", "5", "5"),
        ("Location", "/a?token=x#code=y", "/a?token=***#code=***"), ("X-A", "/a?token=x", "/a?token=x"),
    ])
    func `what stands behind a URL in a field stays`(name: String, value: String, masked: String) {
        let field = HTTPFields.Field(name, value)
        #expect(Redaction.masked.value(of: field) == masked)
        #expect(Redaction.none.value(of: field) == value)
        #expect(CassetteMask().fields(HTTPFields([field])).first(name) == masked)
    }

    @Test(
        arguments: [
            ("http://ada:x@h/a@b", "ada:x"), ("http://ada:x@y@h", "ada:x@y"), ("http://ada:x/y@h/", "ada:x/y"),
            ("http://h/a@b", nil), ("/a@b", nil),
        ] as [(String, Substring?)])
    func `the credentials of a URL are found`(text: String, credentials: Substring?) {
        #expect(Redaction.credentials(of: text) == credentials)
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
        (
            #"{"next":"https://u:pw@x/a?token=b&n=1","n":1}"#,
            #"{"next":"https://***@x/a?token=***&n=1","n":1}"#
        ),
        (#"["https:\/\/x\/?token=b"]"#, #"["https://x/?token=***"]"#),
        (#"["see https://x/?token=b and ask@x"]"#, #"["see https://x/?token=*** and ask@x"]"#),
        (#"{"a":"https://x/?token=unfini"#, #"{"a":"https://x/?token=***"#),
        (#"{"a":"https:\/\/x\/?n=1","b":"a://b @"}"#, #"{"a":"https:\/\/x\/?n=1","b":"a://b @"}"#),
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

    @Test func `members are masked in JSON parts of a form, and in JSON that has no type or another one`() {
        let (json, hidden) = (#"{"a":1,"password":"x"}"#, #"{"a":1,"password":"***"}"#)
        func form(_ json: String, _ type: String) -> [UInt8] {
            let head = "--b\r\nContent-Disposition: form-data; name=\"meta\"\r\ncontent-type: \(type)\r\n\r\n"
            return Array("\(head)\(json)\r\n--b--\r\n".utf8)
        }
        let kind = "multipart/form-data; boundary=b"
        for type in ["application/json", "application/ld+json; charset=utf-8"] {
            #expect(Redaction.masked.body(form(json, type), contentType: kind) == form(hidden, type))
        }
        #expect(Redaction.masked.body(form(json, "image/png"), contentType: kind) == form(json, "image/png"))
        let pairs = "application/x-www-form-urlencoded"
        for type in [nil, "text/plain", "text/html; charset=utf-8", pairs, "application/octet-stream"] {
            #expect(Redaction.masked.body(Array(json.utf8), contentType: type) == Array(hidden.utf8))
            #expect(CassetteMask().body(Array(json.utf8), type) == Array(hidden.utf8))
        }
        // a form may begin as JSON does
        let list = Array("[]=1&password=x".utf8)
        #expect(Redaction.masked.body(list, contentType: pairs) == Array("[]=1&password=***".utf8))
        #expect(CassetteMask().body(list, pairs) == Array("[]=1&password=***".utf8))
        #expect(Redaction.masked.body(Array(json.utf8), contentType: "image/png") == Array(json.utf8))
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
