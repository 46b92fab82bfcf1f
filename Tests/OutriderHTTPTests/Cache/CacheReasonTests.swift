// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct CacheReasonTests {
    /// The report of a response that is stored afterwards has this reason, too.
    @Test func `the reason of a miss tells of the time before the request`() {
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/")
        let query = CacheQuery(Attempt(method: "GET", url: url, fields: []), CacheSpec())
        let verdict = CachePolicy.decide(query, nil, size: 0, hasVariants: false, now: 1_700_000_000_000)
        #expect(verdict == .fetch(.uriMiss, "no response was stored"))
    }
}
