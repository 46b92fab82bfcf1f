// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Requests that are found by their URL alone play the entries that their key has.
@Suite struct SimplePlaybackTests {
    private static func playback(
        _ requests: [ReplayRequest], _ matcher: RequestMatcher = RequestMatcher()
    ) -> Playback {
        var index = CassetteIndex(matcher, path: "a.har")
        for (number, request) in requests.enumerated() {
            var entry = CassetteEntry(request)
            entry.head = AttemptScript.Head(status: 200 + number)
            index.add(entry)
        }
        return Playback(index, .fail)
    }

    private static func status(_ step: Playback.Step?) -> Int? {
        if case .play(let found, _)? = step { found.entry.head?.status } else { nil }
    }

    @Test func `both ways take the entries in one order`() {
        let urls = ["http://a.example/?a=1&b=2", "http://a.example/?b=2&a=1", "http://a.example/?a=1&b=2"]
        let requests = urls.map { ReplayRequest(method: "GET", url: $0) }
        var playback = Self.playback(requests)
        #expect(Self.status(playback.takeSimple("GET", urls[0])) == 200)
        let key = RequestMatcher().key(of: requests[1])
        #expect(Self.status(playback.take(key, requests[1])) == 201)
        #expect(Self.status(playback.takeSimple("GET", urls[1])) == 202)
        // used up: the key tells why
        #expect(Self.status(playback.takeSimple("GET", urls[0])) == nil)
        guard case .miss = playback.take(key, requests[1]) else {
            Issue.record("a fourth response was played")
            return
        }
    }

    @Test func `what the URL does not tell is left to the key`() {
        let range: HTTPFields = [HTTPFields.Field("Range", "bytes=0-1")]
        let requests = [
            ReplayRequest(method: "POST", url: "http://a.example/1", body: [1]),
            ReplayRequest(method: "GET", url: "http://a.example/2", fields: range),
            ReplayRequest(method: "GET", url: "http://a.example/3?token=t0ken"),
        ]
        var playback = Self.playback(requests)
        for request in requests { #expect(Self.status(playback.takeSimple(request.method, request.url)) == nil) }
        var matcher = RequestMatcher()
        matcher.fields = ["X-A"]
        let plain = ReplayRequest(method: "GET", url: "http://a.example/4")
        playback = Self.playback([plain], matcher)
        #expect(Self.status(playback.takeSimple("GET", plain.url)) == nil)
        playback = Self.playback([plain])
        #expect(Self.status(playback.takeSimple("HEAD", plain.url)) == nil)
        #expect(Self.status(playback.takeSimple("GET", plain.url)) == 200)
    }

    private static func ready(_ change: (inout CassetteEntry) -> Void, most: Int = 100) -> Bool {
        let request = ReplayRequest(method: "GET", url: "http://a.example/")
        var entry = CassetteEntry(request)
        entry.head = AttemptScript.Head(status: 200)
        entry.body = Array("body".utf8)
        change(&entry)
        var index = CassetteIndex(RequestMatcher(), path: "a.har", timing: .factor(1))
        index.add(entry)
        var playback = Playback(index, .fail)
        let isReady = playback.takeReady("GET", request.url, most) != nil
        // an entry that is not taken is left for an attempt
        #expect((playback.takeSimple("GET", request.url) == nil) == isReady)
        return isReady
    }

    @Test func `only a whole success without waits is at hand`() {
        #expect(Self.ready { _ in })
        #expect(!Self.ready({ _ in }, most: 3))
        #expect(!Self.ready { $0.head?.status = 302 })
        #expect(!Self.ready { $0.head?.status = 401 })
        #expect(!Self.ready { $0.head?.status = 204 })
        #expect(!Self.ready { $0.head?.fields.add("Content-Encoding", "gzip") })
        #expect(!Self.ready { $0.head = nil })
        #expect(!Self.ready { $0.wait = 10 })
        #expect(!Self.ready { $0.isCut = true })
        #expect(!Self.ready { $0.bodyFile = "a.har.d/x" })
        #expect(!Self.ready { $0.trailers.add("A", "1") })
        #expect(!Self.ready { $0.failure = HTTPFailure(.connectionLost, "lost") })
        #expect(!Self.ready { $0.chunks = [.init(time: 0, count: 2), .init(time: 40, count: 2)] })
        #expect(Self.ready { $0.chunks = [.init(time: 0, count: 2), .init(time: 0, count: 2)] })
    }

    @Test func `what is at hand is taken in turn, and comes back first`() {
        let request = ReplayRequest(method: "GET", url: "http://a.example/")
        var playback = Self.playback([request, request])
        guard case .play(_, let turn)? = playback.takeSimple("GET", request.url) else {
            Issue.record("nothing was taken")
            return
        }
        playback.giveBack(turn)
        #expect(playback.takeReady("GET", request.url, 0)?.value.head?.status == 200)
        #expect(Self.status(playback.takeSimple("GET", request.url)) == 201)
        #expect(playback.takeReady("GET", request.url, 0) == nil)
    }
}
