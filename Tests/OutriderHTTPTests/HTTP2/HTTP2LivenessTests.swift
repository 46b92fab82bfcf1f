// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct HTTP2LivenessTests {
    private static let ok = (":status", "200")

    @Test func `silence leads to a PING, and then to the end`() {
        let bench = HTTP2Bench()
        bench.begin()
        bench.begin()
        _ = bench.sent()
        for now in [1.0, 4.9] { bench.machine.timePassed(now) }
        #expect(bench.kinds().isEmpty)
        bench.machine.timePassed(5)
        #expect(bench.kinds() == [.ping])
        bench.machine.timePassed(7.9)
        #expect(bench.took().isEmpty)
        bench.machine.timePassed(8)
        #expect(bench.took() == [.capacity(0)])
        bench.machine.timePassed(10)
        let events = bench.took()
        #expect(
            events.broke
                == .lost(HTTP2Fault(.noError, "no acknowledgement of a PING"), .beforeResponse(replayable: true)))
        #expect(events.count == 3 && bench.isClosed)
    }

    @Test func `an acknowledgement keeps the connection, and there are two PINGs without progress at most`() {
        let bench = HTTP2Bench()
        bench.begin()
        _ = bench.sent()
        var pings = 0
        for now in 1...200 {
            bench.now = Double(now)
            bench.machine.timePassed(bench.now)
            for frame in bench.sent() where frame.head.kind == .ping {
                pings += 1
                bench.raw(.ping, 1, 0, frame.payload)
                bench.flow()
            }
        }
        #expect(pings == 2 && !bench.isClosed)
        bench.head(1, [Self.ok], end: true)
        bench.flow()
        bench.now = 300
        bench.begin()
        #expect(bench.kinds() == [.ping, .headers])
    }

    // MARK: bodies in front of a PING

    /// A bench whose peer takes long bodies.
    private func wide() -> HTTP2Bench {
        let bench = HTTP2Bench(settings: [(.initialWindowSize, 1 << 20)])
        bench.raw(.windowUpdate, 0, 0, [0, 16, 0, 0])
        bench.flow()
        return bench
    }

    /// Such a bench, to which a body of 80 KiB was sent at 0.
    private func uploading() throws -> (bench: HTTP2Bench, upload: HTTP2StreamID) {
        let bench = wide()
        return (bench, try send(80 << 10, on: bench))
    }

    @discardableResult
    private func send(_ bytes: Int, on bench: HTTP2Bench) throws -> HTTP2StreamID {
        let id = try #require(bench.begin("POST", hasBody: true))
        bench.machine.bodyReady(id, bytes, isLast: true)
        while bench.nextData() != nil {}
        return id
    }

    /// Sends a PING at this time, and expects the end after so many seconds of silence.
    private func expectEnd(of bench: HTTP2Bench, after seconds: Double, _ now: Double) {
        pass(now, on: bench)
        let isPinged = bench.kinds().last == .ping
        #expect(isPinged)
        for time in [now + 5, now + seconds - 0.5] where time < now + seconds { pass(time, on: bench) }
        #expect(!bench.isClosed)
        pass(now + seconds, on: bench)
        #expect(bench.isClosed)
    }

    /// Begins a request after 40 s, and expects the end of the connection without further time.
    private func expectEndOfIdle(_ bench: HTTP2Bench) {
        _ = bench.sent()
        bench.now = 40
        bench.begin()
        #expect(bench.kinds() == [.ping, .headers])
        pass(45, on: bench)
        #expect(bench.isClosed)
    }

    private func pass(_ now: Double, on bench: HTTP2Bench) {
        bench.now = now
        bench.machine.timePassed(now)
    }

    private func acknowledge(on bench: HTTP2Bench) {
        for frame in bench.sent() where frame.head.kind == .ping { bench.raw(.ping, 1, 0, frame.payload) }
        bench.flow()
    }

    @Test func `a PING behind a body has the time that a slow way needs for the body`() throws {
        let bench = try uploading().bench
        expectEnd(of: bench, after: 10, 5)
    }

    @Test func `a long body gives a minute`() throws {
        let bench = try uploading().bench
        for _ in 0..<20 { try send(40 << 10, on: bench) }
        expectEnd(of: bench, after: 60, 5)
    }

    @Test func `a PING in front of a body does not wait for it`() throws {
        let bench = wide()
        bench.now = 30
        try send(40 << 10, on: bench)
        #expect(Array(bench.kinds().prefix(2)) == [.ping, .headers])
        pass(34.5, on: bench)
        #expect(!bench.isClosed)
        pass(35, on: bench)
        #expect(bench.isClosed)
    }

    @Test func `what an acknowledged PING followed has arrived`() throws {
        let bench = try uploading().bench
        pass(5, on: bench)
        acknowledge(on: bench)
        expectEnd(of: bench, after: 5, 15)
    }

    @Test func `what was sent behind an acknowledged PING is on its way`() throws {
        let bench = try uploading().bench
        pass(5, on: bench)
        try send(120 << 10, on: bench)
        acknowledge(on: bench)
        expectEnd(of: bench, after: 10, 15)
    }

    @Test func `the body of a cancelled upload still stands in front of a PING`() throws {
        let (bench, upload) = try uploading()
        bench.begin()
        bench.machine.cancel(upload, now: 1)
        expectEnd(of: bench, after: 10, 5)
    }

    @Test func `an early head says nothing of the body`() throws {
        let bench = try uploading().bench
        bench.head(1, [Self.ok])
        bench.flow()
        expectEnd(of: bench, after: 10, 5)
    }

    @Test func `a whole response shows that its request has arrived, and what was sent before it`() throws {
        let bench = try uploading().bench
        bench.begin()
        try send(72 << 10, on: bench)
        bench.head(3, [Self.ok], end: true)
        bench.flow()
        // the first and the third still wait: the third has 72 KiB, and 5 s have passed
        expectEnd(of: bench, after: 9, 5)
    }

    @Test func `an upload without a response gives no time to an idle connection`() throws {
        let (bench, upload) = try uploading()
        bench.machine.cancel(upload, now: 1)
        expectEndOfIdle(bench)
    }

    @Test func `uploads with a response give no time to an idle connection`() throws {
        let bench = try uploading().bench
        bench.head(1, [Self.ok], end: true)
        bench.flow()
        expectEndOfIdle(bench)
    }
}
