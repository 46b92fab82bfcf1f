// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct ProgressTests {
    private static func progress(received: Int64, of total: Int64? = nil, sent: Int64 = 0, of sentTotal: Int64? = nil)
        -> Progress
    {
        var progress = Progress()
        (progress.received, progress.receivedTotal, progress.sent, progress.sentTotal) = (
            received, total, sent, sentTotal
        )
        return progress
    }

    @Test func `the fraction counts both bodies, once they are known`() {
        #expect(Self.progress(received: 5).fraction == nil)
        #expect(Self.progress(received: 5, of: 10).fraction == 0.5)
        #expect(Self.progress(received: 0, of: 50, sent: 50, of: 50).fraction == 0.5)
        #expect(Self.progress(received: 0, of: 0).fraction == 1)
        #expect(Self.progress(received: 20, of: 10).fraction == 1)
        #expect(Self.progress(received: .max, of: .max, sent: .max, of: .max).fraction == 1)
    }

    @Test func `the first news is told at once, more at most four times a second`() {
        var limiter = ProgressLimiter()
        #expect(limiter.shouldTell(Self.progress(received: 1), now: .zero) == true)
        #expect(limiter.shouldTell(Self.progress(received: 2), now: .milliseconds(249)) == false)
        #expect(limiter.shouldTell(Self.progress(received: 3), now: .milliseconds(250)) == true)
        #expect(limiter.shouldTell(Self.progress(received: 4), now: .milliseconds(300)) == false)
        #expect(limiter.shouldTell(Self.progress(received: 3), now: .seconds(9)) == false)
        #expect(limiter.shouldTell(Self.progress(received: 4), now: .seconds(9)) == true)
    }

    @Test func `the end of a body is told at once, and once`() {
        var limiter = ProgressLimiter()
        #expect(limiter.shouldTell(Self.progress(received: 1, of: 10), now: .zero) == true)
        #expect(limiter.shouldTell(Self.progress(received: 10, of: 10), now: .milliseconds(1)) == true)
        #expect(limiter.shouldTell(Self.progress(received: 10, of: 10), now: .seconds(1)) == false)
        #expect(limiter.shouldTell(Self.progress(received: 11, of: 10), now: .milliseconds(2)) == false)
        // of a body whose length was not known before
        #expect(limiter.shouldTell(Self.progress(received: 12), now: .seconds(3)) == true)
        #expect(limiter.shouldTell(Self.progress(received: 12, of: 12), now: .seconds(3)) == true)
        #expect(limiter.shouldTell(Self.progress(received: 12, of: 12), now: .seconds(3)) == false)
    }

    @Test func `a clock that goes back says nothing`() {
        var limiter = ProgressLimiter()
        #expect(limiter.shouldTell(Self.progress(received: 1), now: .seconds(5)) == true)
        #expect(limiter.shouldTell(Self.progress(received: 2), now: .seconds(1)) == false)
    }
}
