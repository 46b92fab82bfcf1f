// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct OnlyIfCachedTests {
    private static let now: Int64 = 1_700_000_000_000

    @Test(
        arguments: [
            (.default, false), (.forceCache, false), (.onlyIfCached, false), (.reload, true), (.noCache, true),
        ] as [(CacheSpec.Mode, Bool)])
    func `a request that says only-if-cached is sent in no mode`(mode: CacheSpec.Mode, isRefused: Bool) {
        var spec = CacheSpec()
        spec.mode = mode
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/")
        let attempt = Attempt(method: "GET", url: url, fields: [.init("Cache-Control", "only-if-cached")])
        let stored = CachedHead(
            status: 200, reason: "", version: "1.1", [.init("Cache-Control", "max-age=600")], requestedAt: Self.now,
            respondedAt: Self.now)
        let verdict = CachePolicy.decide(
            CacheQuery(attempt, spec), stored, size: 10, hasVariants: true, now: Self.now + 1000)
        switch verdict {
        case .use: #expect(!isRefused)
        case .refuse(_, let isDirective): #expect(isRefused && isDirective)
        default: Issue.record("the request is sent: \(verdict)")
        }
    }
}
