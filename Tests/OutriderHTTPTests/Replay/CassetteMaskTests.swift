// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct CassetteMaskTests {
    private static func entry(_ type: String, _ body: String, _ more: [HTTPFields.Field] = []) -> CassetteEntry {
        var entry = CassetteEntry(ReplayRequest(method: "GET", url: "http://a.example/"))
        let fields = HTTPFields([HTTPFields.Field("Content-Type", type)] + more)
        entry.head = AttemptScript.Head(status: 200, reason: "OK", fields: fields)
        entry.body = Array(body.utf8)
        return entry
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test(arguments: [
        #"q9Zx+7/Lk\u0026\u003cwert\u003e=="#, #"q9Zx\u002B7/Lk\u0026\u003Cwert\u003E=="#,
        #"q9Zx+7\/Lk\u0026\u003cwert\u003e=="#, #"q9Zx+7/Lk\u0026\u003cwert\u003e\u003d\u003d"#,
    ])
    func `a value is found in the escapes of writers of JSON`(written: String) {
        var values = SecretValues()
        values.add("q9Zx+7/Lk&<wert>==")
        #expect(values.replaced("{\"a\":\"\(written)\"}") == #"{"a":"***"}"#)
    }

    @Test(arguments: [#"p\u00e4ss\ud83d\ude00"w"#, #"p\u00E4ss\uD83D\uDE00"w"#])
    func `a value beyond ASCII is found in escapes`(written: String) {
        var values = SecretValues()
        values.add("päss😀\"w")
        let quote = written.contains("E4") ? #"\u0022"# : #"\""#
        #expect(values.replaced(written.replacing("\"", with: quote)) == "***")
    }

    @Test func `a value in another normal form is another value`() {
        var values = SecretValues()
        for value in ["caf\u{e9}-secret", "cafe\u{301}-secret"] { values.add(value) }
        #expect(values.replaced("caf\u{e9}-secret cafe\u{301}-secret") == "*** ***")
    }

    @Test func `a mark behind a separator hides no secret`() {
        let mask = CassetteMask()
        let login = Base64.encode(Array("ada:\u{301}wolf-secret".utf8))
        let fields: HTTPFields = [
            HTTPFields.Field("Cookie", "a=1; b=\u{301}hidden-1=x;\u{301}c=hidden-2=y"),
            HTTPFields.Field("Set-Cookie", "d=\u{301}hidden-3=z;\u{301}Path=/"),
            HTTPFields.Field("Authorization", "Basic \(login)"),
        ]
        #expect(
            mask.fields(fields).list.map(\.value) == [
                "a=***; b=***;\u{301}c=***", "d=***;\u{301}Path=/", "Basic ***",
            ])
        var values = SecretValues()
        values.add(mask.secrets(of: fields, body: []))
        #expect(values.replaced("\u{301}hidden-1=x \u{301}wolf-secret") == "*** ***")
    }

    @Test func `the longest of the values that begin alike is masked`() {
        var values = SecretValues()
        let names = (0..<200).map { "eyJhbGciOi\($0)" } + ["eyJhbGciOi", "eyJhbG-long-value", "eyJhbG-long"]
        for name in names.shuffled() { values.add(name) }
        for name in names { #expect(values.replaced("a \(name), b") == "a ***, b") }
        #expect(values.replaced("eyJhbGciO eyJhbGciOi7x eyJhbG-lonG eyJh") == "eyJhbGciO ***x eyJhbG-lonG eyJh")
        let bytes = values.bytes
        for name in names { values.add(name) }
        #expect(bytes > names.count * 100 && values.bytes == bytes)
    }

    @Test func `a form that came in pieces is masked as a whole`() {
        var entry = Self.entry("application/x-www-form-urlencoded", "code=hidden-code-1&x=1")
        entry.chunks = [.init(time: 0, count: 12), .init(time: 150, count: entry.body.count - 12)]
        let masked = entry.masked(CassetteMask())
        #expect(Self.text(masked.body) == "code=***&x=1" && masked.chunks.isEmpty)
    }

    @Test func `streams of JSON are masked by names and pointers, and tell their secrets`() {
        var mask = CassetteMask()
        mask.pointers = ["/zz"]
        let events =
            "data: {\ndata:  \"access_token\":\ndata: \"hidden-1\", \"n\": 1}\n\ndata: {\"zz\":\"hidden-2\"}\n\n"
        let lines = "{\"token\":\"hidden-1\"}\n{\"zz\":\"hidden-2\"}\n"
        for (type, body) in [("text/event-stream", events), ("application/x-ndjson", lines)] {
            var entry = Self.entry(type, body)
            for cut in [0, 30] {
                if cut > 0 {
                    entry.chunks = [.init(time: 0, count: cut), .init(time: 9, count: body.utf8.count - cut)]
                }
                let masked = entry.masked(mask)
                #expect(!Self.text(masked.body).contains("hidden"))
                #expect(masked.chunks.reduce(0) { $0 + $1.count } == (cut > 0 ? masked.body.count : 0))
            }
            var values = SecretValues()
            values.add(mask.secrets(of: entry.head?.fields ?? [], body: entry.body))
            #expect(values.replaced("hidden-1 hidden-2") == "*** ***")
        }
        #expect(Self.text(mask.line(Array("no JSON [x] stays".utf8))) == "no JSON [x] stays")
        #expect(Self.text(mask.message(Array(#"{"zz":"hidden-2"}"#.utf8), opcode: 1)) == #"{"zz":"***"}"#)
    }

    @Test(arguments: [
        ([HTTPFields.Field](), #"{"links":["see https://b.example/?access_token=hidden-1#/x?id_token=hidden-2 ."]}"#),
        ([], #"{"next":"https://ada:hidden-1@b.example/?n=1","other":"mailto:hidden-3","id_token":"hidden-2"}"#),
        ([HTTPFields.Field("Location", "/a?id_token=hidden-1#access_token=hidden-2")], ""),
    ])
    func `secrets of URLs in a response are replaced elsewhere, too`(fields: [HTTPFields.Field], body: String) {
        let entry = Self.entry("application/json", body, fields)
        var values = SecretValues()
        values.add(CassetteMask().secrets(of: entry.head?.fields ?? [], body: entry.body))
        #expect(values.replaced("hidden-1 hidden-2 hidden-3") == "*** *** hidden-3")
    }

    @Test func `digests of a body that was masked are dropped, and others stay`() {
        let digests = ["Repr-Digest", "Content-Digest", "Digest", "Content-MD5"].map { HTTPFields.Field($0, "x") }
        let secret = Self.entry("application/json", #"{"token":"hidden-1"}"#, digests).masked(CassetteMask())
        #expect(secret.head?.fields.list.map(\.name) == ["Content-Type"])
        let plain = Self.entry("application/json", #"{"n":1}"#, digests).masked(CassetteMask())
        #expect(plain.head?.fields.list.count == 5)
    }

    @Test func `parts of a form with secret names are masked where requests are shown`() {
        let form = "--B\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhidden\r\n--B--\r\n"
        let shown = Redaction.masked.body(Array(form.utf8), contentType: "multipart/form-data; boundary=B")
        #expect(Self.text(shown) == form.replacing("hidden", with: "***"))
    }

    @Test(arguments: [
        ("https://x.example:443/a", "https://x.example/a"), ("http://X.example", "http://x.example/"),
        ("https://bücher.example/ä b#c", "https://xn--bcher-kva.example/%C3%A4%20b"),
        ("https://x.example/a/../b?c=***", "https://x.example/b?c=***"),
        ("wss://x.example:443/", "https://x.example/"), ("https://***.x.example/a", "https://***.x.example/a"),
    ])
    func `URLs of archives are read as those of requests`(written: String, read: String) throws {
        let file = """
            {"log": {"entries": [{"request": {"method": "GET", "url": "\(written)", "headers": []},
             "response": {"status": 200, "headers": [], "content": {"size": 0}}}]}}
            """
        #expect(try CassetteReader.read(Array(file.utf8)).entries.first?.request.url == read)
    }

    @Test func `a WebSocket without its messages cannot be played`() throws {
        let file = """
            {"log": {"entries": [{"request": {"method": "GET", "url": "wss://x.example/", "headers": []},
             "response": {"status": 101, "headers": [], "content": {"size": 0}}}]}}
            """
        let contents = try CassetteReader.read(Array(file.utf8))
        #expect(contents.entries.isEmpty && contents.unusable.first?.reason == "its messages were not exported")
    }

    @Test(arguments: [
        ("https://a.example:443/b", "https://a.example/b", true), ("wss://a.example:443", "https://a.example/", true),
        ("http://a.example:80/", "http://a.example:81/", false), ("http://*:80/", "http://a.example:81/", false),
    ])
    func `the default port of a pattern is that of its scheme`(pattern: String, url: String, fits: Bool) throws {
        #expect(try URLPattern(pattern).fits(url) == fits)
    }
}
