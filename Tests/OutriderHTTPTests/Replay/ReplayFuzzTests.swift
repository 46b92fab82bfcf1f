// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON
import Testing

/// Damaged cassettes, archives, patterns and requests. `OUTRIDER_FUZZ` names the number of rounds, as for WebSockets.
@Suite struct ReplayFuzzTests {
    private static let rounds = getenv("OUTRIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 1000

    private static func entry(_ number: Int) -> CassetteEntry {
        var request = ReplayRequest(
            method: "POST", url: "http://a.example/\(number)?b=2&a=1",
            fields: [HTTPFields.Field("Content-Type", "application/json"), HTTPFields.Field("Range", "bytes=0-")],
            body: Array(#"{"a":[1,{"b":"c"}],"password":"s3cr3t-pass"}"#.utf8))
        if number == 1 { request.fields = [HTTPFields.Field("Content-Type", "multipart/form-data; boundary=a")] }
        var entry = CassetteEntry(request)
        entry.head = AttemptScript.Head(
            status: 200, reason: "OK", fields: [HTTPFields.Field("Content-Type", "text/event-stream")])
        entry.body = Array("data: {\"token\": \"tttttttt1\"}\n\ndata: 2\n\n".utf8)
        entry.chunks = [.init(time: 0, count: 30), .init(time: 5, count: 8)]
        switch number {
        case 1: entry.body = [0, 255, 128]
        case 2: entry.failure = HTTPFailure(.connectionLost, "lost", phase: .response)
        case 3:
            entry.messages = [
                ReplayMessage(isSent: true, opcode: 1, bytes: Array("{\"id\":1}".utf8), time: 1),
                ReplayMessage(isSent: false, opcode: 2, bytes: [1, 2], time: 2),
            ]
        default: break
        }
        return entry
    }

    private static let cassette: String = {
        var file = CassetteWriter.head(program: "1")
        for number in 0..<4 {
            file += Array((number == 0 ? "\n" : ",\n").utf8)
            file += CassetteWriter.line(entry(number), time: "2030-01-01T00:00:00.000Z")
        }
        return String(decoding: file + CassetteWriter.tail, as: UTF8.self)
    }()

    /// As browsers write it: with line breaks, and fields of their own.
    private static let archive = """
        \u{FEFF}{"log": {"version": "1.2", "creator": {"name": "WebInspector"}, "entries": [
          {"_webSocketMessages": [{"type": "send", "time": 1.5, "opcode": 1, "data": "x"}],
           "request": {"method": "GET", "url": "ws://a.example/a#b", "headers": [{"name": ":path", "value": "/"}]},
           "response": {"status": 101, "headers": [{"name": "A", "value": "b\\nc"}], "content": {"size": 0}}},
          {"request": {"method": "POST", "url": "https://a.example", "headers": [],
             "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "b c"}]}},
           "response": {"status": 0, "_error": "net::ERR_TIMED_OUT", "headers": [], "content": {}}},
          {"request": {"method": "GET", "url": "https://a.example/i", "headers": []},
           "response": {"status": 200, "headers": [], "content": {"size": 3, "text": "AP+A", "encoding": "base64"}},
           "timings": {"wait": 5}}]}}
        """

    /// Reads a file, and plays, masks and writes all that is in it.
    private static func use(_ text: String) {
        guard let contents = try? CassetteReader.read(Array(text.utf8)) else { return }
        var index = CassetteIndex(RequestMatcher(), path: "/a.har")
        for entry in contents.entries { index.add(entry) }
        var playback = Playback(index, .cycle)
        var mask = CassetteMask()
        mask.pointers = ["/a/*/b"]
        for entry in contents.entries {
            mask.values.add(mask.secrets(of: entry.request))
            let key = RequestMatcher().key(of: entry.request)
            guard case .play(let turn, _) = playback.take(key, entry.request) else {
                Issue.record("an entry does not play itself: \(text)")
                return
            }
            let found = turn.entry
            let script = AttemptScript(found, body: found.body, .factor(1), key: "k")
            let played = script.chunks.reduce(0) { $0 + $1.bytes.count }
            if played != found.body.count { Issue.record("\(played) of \(found.body.count) bytes play: \(text)") }
            let line = CassetteWriter.line(found.masked(mask), time: "")
            if (try? JSONParser.parse(line)) == nil { Issue.record("a line is no JSON: \(text)") }
        }
        let odd = ReplayRequest(method: "GET", url: "http://a.example/0?c", body: Array("{\"a\":[2]}".utf8))
        if case .miss(let miss) = playback.take(RequestMatcher().key(of: odd), odd) { _ = miss.failure }
    }

    @Test func `damaged cassettes and archives are read or refused`() {
        for text in [Self.cassette, Self.archive] { Self.use(text) }
        let spice = "{}[]\",:\\0123456789-.e#?&=%/_"
        let files = Mutations(of: [Self.cassette, Self.archive], count: Self.rounds, seed: 18, spice: spice)
        for text in files { Self.use(text) }
        // an entry alone is short, so that its values are hit more often
        let line = String(decoding: CassetteWriter.line(Self.entry(3), time: ""), as: UTF8.self)
        for text in Mutations(of: [line], count: Self.rounds, seed: 19, spice: spice) {
            Self.use("{\"log\":{\"entries\":[\(text)]}}")
        }
    }

    @Test func `any request is compared with itself as equal, and with patterns in bounded time`() throws {
        let bodies = [
            #"{"a":[1,{"b":"c"}],"n":1e400}"#, "a=1&b=%zz&&=",
            "--a\r\nContent-Disposition: form-data; name=b\r\n\r\nc\r\n--a--",
        ]
        let types = [
            "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "a/b+json",
        ]
        var matcher = RequestMatcher()
        (matcher.ignoredBody, matcher.ignoredQuery, matcher.fields) = (["/a/*/b", "/b"], ["x"], ["Accept"])
        var random = SeededRandom(seed: 20)
        for body in Mutations(of: bodies, count: Self.rounds, seed: 21, spice: "{}[]\",:=&%-\r\n") {
            let type = types.randomElement(using: &random) ?? ""
            let url = "https://a.example/\(body.filter { $0 != "#" })"
            let request = ReplayRequest(
                method: "PUT", url: url, fields: [HTTPFields.Field("Content-Type", type)], body: Array(body.utf8))
            if matcher.key(of: request) != matcher.key(of: request) { Issue.record("\(body)") }
            if !RequestMatcher.areSame(request.body, request.body) { Issue.record("\(body)") }
            var rule = StubRule(url: try URLPattern("*/{a}*"), replies: [StubReply()])
            rule.body = (try? JSONParser.parse(request.body)) ?? .null
            var table = StubTable()
            _ = table.add(rule)
            _ = StubTable.fitting(table.rules, request)
        }
        let patterns = Mutations(
            of: ["https://a.example/{id}.json*", "/a/*/{b}?c=*"], count: Self.rounds, seed: 22, spice: "*{}/?")
        for text in patterns {
            guard let pattern = try? URLPattern(text) else { continue }
            _ = pattern.fits("https://a.example/" + String(repeating: "a/", count: 50) + "7.json?c=d")
        }
    }

    @Test func `a pattern that can fit in many ways is decided quickly`() throws {
        let pattern = try URLPattern("/" + String(repeating: "a*", count: 500) + "b")
        let url = "http://h/" + String(repeating: "a", count: 4000)
        let start = ContinuousClock.now
        #expect(!pattern.fits(url))
        #expect(ContinuousClock.now - start < .seconds(2))
    }
}
