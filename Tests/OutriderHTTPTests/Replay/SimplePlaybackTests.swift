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
}
