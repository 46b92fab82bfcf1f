// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import Testing

@Suite struct CassetteTests {
    private static func entry() -> CassetteEntry {
        let fields: HTTPFields = [
            HTTPFields.Field("Content-Type", "application/json"),
            HTTPFields.Field("Authorization", "Bearer s3cr3t-token"),
        ]
        let body = Array(#"{"a":1,"password":"s3cr3t-pass"}"#.utf8)
        var entry = CassetteEntry(
            ReplayRequest(method: "POST", url: "http://a.example/x?b=2&a=1", fields: fields, body: body))
        entry.head = AttemptScript.Head(
            status: 200, reason: "OK",
            fields: [
                HTTPFields.Field("Content-Type", "text/event-stream"),
                HTTPFields.Field("Set-Cookie", "sid=abcdefgh1; Path=/"),
            ])
        entry.body = Array("data: {\"token\": \"tttttttt1\"}\n\ndata: s3cr3t-token\n\n".utf8)
        entry.chunks = [.init(time: 0, count: 30), .init(time: 5, count: entry.body.count - 30)]
        return entry
    }

    private static func masked() -> CassetteEntry {
        let entry = entry()
        var mask = CassetteMask()
        mask.values.add(mask.secrets(of: entry.request))
        mask.values.add(mask.secrets(of: entry.head?.fields ?? [], body: entry.body))
        return entry.masked(mask)
    }

    private static func file(_ count: Int) -> [UInt8] {
        let line = CassetteWriter.line(masked(), time: "2030-01-01T00:00:00.000Z")
        var file = CassetteWriter.head(program: "1")
        for index in 0..<count { file += Array((index == 0 ? "\n" : ",\n").utf8) + line }
        return file + CassetteWriter.tail
    }

    @Test func `no secret is written, and pieces keep their borders`() {
        let masked = Self.masked()
        let text = String(decoding: CassetteWriter.line(masked, time: ""), as: UTF8.self)
        for secret in ["s3cr3t-token", "s3cr3t-pass", "abcdefgh1", "tttttttt1"] { #expect(!text.contains(secret)) }
        #expect(masked.chunks.map(\.count) == [24, 11])
        #expect(masked.body.count == 35)
    }

    @Test(arguments: [
        ("HTTP/1.0", "1.0"), ("http/1.1", "1.1"), ("HTTP/2", "2"), ("h2", "2"), ("h3", "2"), ("unknown", "1.1"),
    ])
    func `the version of a response is read in all its spellings`(written: String, version: String) {
        let request = #""request":{"method":"GET","url":"http://a.example/"}"#
        let line = #"{\#(request),"response":{"status":200,"httpVersion":"\#(written)"}}"#
        #expect(CassetteReader.entry(Array(line.utf8))?.head?.version == version)
    }

    @Test func `a cassette is one JSON document, and can be read wherever it was cut off`() throws {
        let file = Self.file(2)
        _ = try JSONParser.parse(file)
        let contents = try CassetteReader.read(file)
        #expect(contents.entries.count == 2 && contents.unusable.isEmpty)
        #expect(contents.end == file.count - CassetteWriter.tail.count)
        for cut in 0..<file.count {
            let entries = try CassetteReader.read(Array(file[..<cut])).entries.count
            #expect(entries <= 2 && (cut < file.count - CassetteWriter.tail.count || entries == 2))
        }
    }

    @Test(arguments: [("}\n{", "line 2, byte "), ("},\n{,", "line 3, byte ")])
    func `a fault between and within lines is told by the byte of the file`(text: String, words: String) {
        let broken = String(decoding: Self.file(2), as: UTF8.self).replacing("},\n{", with: text)
        let error = #expect(throws: CassetteReader.Fault.self) { try CassetteReader.read(Array(broken.utf8)) }
        #expect(error?.message.hasPrefix(words) == true && error?.message.contains("at byte") == false)
    }

    @Test func `a cassette that another program wrote on one line keeps its entries`() throws {
        let line = Self.file(2).filter { $0 != UInt8(ascii: "\n") }
        #expect(try CassetteReader.read(line).entries.count == 2)
    }

    @Test func `an entry without a URL in front of the fragment cannot be played`() throws {
        let broken = String(decoding: Self.file(1), as: UTF8.self).replacing("\"url\":\"http", with: "\"url\":\"h#ttp")
        let contents = try CassetteReader.read(Array(broken.utf8))
        #expect(contents.entries.isEmpty && contents.unusable.first?.reason.contains("no method and URL") == true)
    }

    @Test func `a body's file stands beside its cassette`() throws {
        let outside = String(decoding: Self.file(1), as: UTF8.self).replacing(
            "\"mimeType\"", with: "\"_file\":\"../key\",\"mimeType\"")
        let contents = try CassetteReader.read(Array(outside.utf8))
        #expect(contents.entries.isEmpty && contents.unusable.first?.reason.contains("outside") == true)
    }

    @Test(arguments: ["12345678901234567890", "1"])
    func `a pointer masks bodies with numbers of any length`(number: String) {
        var mask = CassetteMask()
        mask.pointers = ["/pin"]
        let body = mask.body(Array("{\"n\":\(number),\"pin\":\"hidden-pin\"}".utf8), "application/json")
        #expect(!String(decoding: body, as: UTF8.self).contains("hidden-pin"))
    }

    @Test(arguments: [
        ("hello", "line 1, byte 0"), ("{\"log\": {\"entries\": [\n  {\"request\": {}},\n  oops]}}", "line 3, byte 43"),
        ("{}", "no log with entries"),
        (
            #"{"log":{"creator":{"name":"outrider"},"_cassette":{"version":9},"entries":["# + "\n]}}\n",
            "format 9"
        ),
    ])
    func `what is no cassette is told with line and byte`(text: String, words: String) {
        let error = #expect(throws: CassetteReader.Fault.self) { try CassetteReader.read(Array(text.utf8)) }
        #expect(error?.message.contains(words) == true)
    }

    @Test func `identical requests play in order, by value, and then fail`() throws {
        var index = CassetteIndex(RequestMatcher(), path: "/a.har")
        for entry in try CassetteReader.read(Self.file(2)).entries { index.add(entry) }
        var playback = Playback(index, .fail)
        let request = CassetteMask().masked(
            ReplayRequest(
                method: "POST", url: "http://a.example/x?a=1&b=2",
                fields: [HTTPFields.Field("Content-Type", "application/json")],
                body: Array(#"{"password": "other-pass", "a": 1.0}"#.utf8)))
        for _ in 0..<2 {
            guard case .play = playback.take(RequestMatcher().key(of: request), request) else {
                Issue.record("not played")
                return
            }
        }
        guard case .miss(let miss) = playback.take(RequestMatcher().key(of: request), request) else {
            Issue.record("played too often")
            return
        }
        #expect(miss.failure.kind == .replayMiss && miss.failure.message.contains("2 times"))
    }

    @Test func `an entry that was given back plays next, before later ones`() throws {
        var index = CassetteIndex(RequestMatcher(), path: "/a.har")
        for entry in try CassetteReader.read(Self.file(2)).entries { index.add(entry) }
        let request = index.entries[0].entry.request
        let key = RequestMatcher().key(of: request)
        var playback = Playback(index, .fail)
        guard case .play(let first, let turn) = playback.take(key, request), case .play = playback.take(key, request)
        else {
            Issue.record("not played")
            return
        }
        #expect(!playback.has(key) && playback.unused(most: 9).isEmpty)
        playback.giveBack(turn)
        #expect(playback.has(key) && playback.unused(most: 9).count == 1)
        guard case .play(let again, _) = playback.take(key, request) else {
            Issue.record("not played again")
            return
        }
        #expect(again.entry.body == first.entry.body && !playback.has(key))
    }

    @Test func `a value is found in every encoding`() {
        var values = SecretValues()
        let secret = "c4n4ry07-Zq/+x123"
        values.add(secret)
        for offset in 0..<3 {
            let bytes = [UInt8](repeating: 65, count: offset) + Array((secret + "tail").utf8)
            #expect(values.replaced(Array(Base64.encode(bytes).utf8)) != nil)
            #expect(values.replaced(Array(Base64.encodeForURL(bytes).utf8)) != nil)
        }
        for text in [secret, "c4n4ry07-Zq%2F%2Bx123", "c4n4ry07-Zq%2f%2bx123", #"c4n4ry07-Zq\/+x123"#] {
            #expect(values.replaced(Array("x\(text)y".utf8)).map { String(decoding: $0, as: UTF8.self) } == "x***y")
        }
    }

    @Test func `messages are found in frames of any size, however they are cut`() {
        for count in [0, 125, 126, 65535, 65536, 70000] {
            let frame = FrameTap.serverFrame(2, [UInt8](repeating: 7, count: count))
            var tap = FrameTap()
            var found: [Int] = []
            for start in stride(from: 0, to: frame.count, by: 999) {
                found += tap.feed(frame[start..<min(frame.count, start + 999)]).map(\.bytes.count)
            }
            #expect(found == [count])
        }
    }

    @Test(arguments: [
        ("https://a.example/users/{id}", "https://a.example/users/7?x=1", true),
        ("https://a.example/users/{id}", "https://a.example/users/7/b", false), ("*", "http://q/", true),
        ("/a/{x}.json", "http://q/a/b.c.json", true), ("/json*", "http://q/json/health", true),
        ("https://A.example", "https://a.example/", true),
        ("tcp://a.example:25", "tcp://a.example:25", true), ("tcp://a.example:25", "tcp://a.example:26", false),
        ("/a?b=1", "http://q/a?b=2", false), ("/u/{id}.json/raw", "http://q/u/7.json/raw", true),
        ("/u/{id}.json/raw", "http://q/u/7.json.b/raw", false), ("/u/{id}.json?x=1", "http://q/u/7.json?x=1", true),
        ("/u/{id}:run/x", "http://q/u/7:run/x", true), ("/{a}.{b}/z", "http://q/x.y/z", true),
        ("https://{s}.example/a", "https://x.example/a", true), ("https://{s}.example/a", "https://.example/a", false),
    ])
    func `patterns fit URLs`(pattern: String, url: String, fits: Bool) throws {
        #expect(try URLPattern(pattern).fits(url) == fits)
    }
}
