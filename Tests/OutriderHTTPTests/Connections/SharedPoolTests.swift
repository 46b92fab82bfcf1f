// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct SharedPoolTests {
    private let key = PoolKey(
        HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/"), version: .auto)

    private let other = PoolKey(HTTPURL(scheme: .https, host: "b.test", port: 443, target: "/"), version: .auto)

    @Test func `one connection is opened while the protocol is unknown`() {
        var pool = PoolMachine()
        #expect(pool.ask(1, for: key, limit: 6) == .open)
        for waiter in 2...5 { #expect(pool.ask(UInt64(waiter), for: key, limit: 6) == .wait) }
        #expect(pool.opened(100, of: key, capacity: 3, now: 0) == [.lend(2, 100), .lend(3, 100), .open(4)])
        #expect(pool.counts.http2 == 1)
        #expect(pool.counts.streams == 3)
        #expect(pool.opened(101, of: key, capacity: 3, now: 0) == [.lend(5, 101)])
        #expect(pool.counts == counts(busy: 2, http2: 2, streams: 5))
    }

    @Test func `an origin that speaks HTTP1 gets as many connections as are allowed`() {
        var pool = PoolMachine()
        #expect(pool.ask(1, for: key, limit: 3) == .open)
        for waiter in 2...4 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .wait) }
        #expect(pool.opened(100, of: key, capacity: nil, now: 0) == [.open(2), .open(3)])
        #expect(pool.takeBack(100, of: key, now: 1) == .lend(4))
        for _ in 1...3 { #expect(pool.ended(of: key) == nil) }
        #expect(pool.counts == counts())
        // that is remembered for ten minutes
        #expect(pool.ask(5, for: key, limit: 3, now: 500) == .open)
        #expect(pool.ask(6, for: key, limit: 3, now: 500) == .open)
        #expect(pool.ask(7, for: key, limit: 3, now: 700) == .wait)
    }

    @Test func `after a failure to open nothing waits for a single connection`() {
        var pool = PoolMachine()
        #expect(pool.ask(1, for: key, limit: 3) == .open)
        for waiter in 2...5 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .wait) }
        #expect(pool.openingEnded(of: key, failed: true) == [.open(2), .open(3), .open(4)])
    }

    @Test func `after a cancelled opening the next attempt opens`() {
        var pool = PoolMachine()
        #expect(pool.ask(1, for: key, limit: 3) == .open)
        for waiter in 2...3 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .wait) }
        #expect(pool.openingEnded(of: key, failed: false) == [.open(2)])
    }

    @Test func `an opening that waits for its client holds back no other`() {
        var pool = PoolMachine()
        #expect(pool.ask(1, for: key, limit: 3) == .open)
        #expect(pool.ask(2, for: key, limit: 3) == .wait)
        #expect(pool.ask(3, for: key, limit: 3) == .wait)
        #expect(pool.openingWaits(of: key) == [.open(2)])
        // the second one is on its way, so the third waits for it
        #expect(pool.opened(100, of: key, capacity: 1, now: 0) == [.open(3)])
        #expect(pool.openingWaits(of: key) == [])
        #expect(pool.counts == counts(busy: 3, http2: 1, streams: 1))
        // its place counts all the same
        #expect(pool.ask(4, for: key, limit: 3) == .wait)
        #expect(pool.openingEnded(of: key, failed: false) == [.open(4)])
        #expect(pool.openingWaits(of: other) == [])
    }

    @Test func `slots of the fullest connection are lent first`() {
        var pool = opened(capacity: 2, connections: 2)
        #expect(pool.ask(9, for: key, limit: 2) == .wait)
        #expect(pool.release(100, of: key, now: 1) == .next([.lend(9, 100)]))
        for connection: UInt64 in [100, 100, 101] { _ = pool.release(connection, of: key, now: 2) }
        #expect(pool.ask(10, for: key, limit: 2) == .lend(101))
        #expect(pool.ask(11, for: key, limit: 2) == .lend(100))
    }

    @Test func `a connection that drains gets no attempt, and makes room for another`() {
        var pool = opened(capacity: 2, connections: 1)
        #expect(pool.ask(9, for: key, limit: 1) == .wait)
        #expect(pool.withdraw(100, of: key) == [.open(9)])
        #expect(pool.withdraw(100, of: key) == [])
        #expect(pool.release(100, of: key, now: 3) == .next([]))
        #expect(pool.counts == counts(busy: 1))
    }

    @Test func `a capacity may fall below what is used, and rise`() {
        var pool = opened(capacity: 2, connections: 1)
        #expect(pool.setCapacity(0, of: 100, key) == [])
        #expect(pool.ask(9, for: key, limit: 1) == .wait)
        #expect(pool.release(100, of: key, now: 1) == .next([]))
        #expect(pool.setCapacity(5, of: 100, key) == [.lend(9, 100)])
    }

    @Test func `a refused attempt goes elsewhere, and comes back if there is no other way`() {
        var pool = opened(capacity: 2, connections: 1)
        #expect(pool.ask(9, for: key, limit: 2, isReplay: true, avoiding: 100) == .open)
        #expect(pool.openingEnded(of: key, failed: false) == [])
        // streams run there: one of them ends first
        #expect(pool.release(100, of: key, now: 1) == .next([]))
        #expect(pool.ask(10, for: key, limit: 1, isReplay: true, avoiding: 100) == .wait)
        #expect(pool.release(100, of: key, now: 2) == .next([.lend(10, 100)]))
        #expect(pool.release(100, of: key, now: 3) == .idle(.keep))
        #expect(pool.ask(11, for: key, limit: 1, isReplay: true, avoiding: 100) == .lend(100))
    }

    @Test func `an attempt that was refused since no streams are allowed waits for them`() {
        var pool = opened(capacity: 1, connections: 1)
        #expect(pool.setCapacity(0, of: 100, key) == [])
        #expect(pool.ask(9, for: key, limit: 6, isReplay: true, avoiding: 100) == .wait)
        #expect(pool.release(100, of: key, now: 1) == .next([]))
        #expect(pool.nextExpiry == nil)
        #expect(pool.setCapacity(5, of: 100, key) == [.lend(9, 100)])
    }

    @Test func `an attempt that waits for streams of a connection opens another when the connection ends`() {
        var pool = opened(capacity: 1, connections: 1)
        _ = pool.setCapacity(0, of: 100, key)
        #expect(pool.ask(9, for: key, limit: 6, isReplay: true, avoiding: 100) == .wait)
        #expect(pool.withdraw(100, of: key) == [.open(9)])
    }

    @Test func `a further connection is assumed to allow as many attempts as the first`() {
        var pool = opened(capacity: 3, connections: 1)
        #expect(pool.knownCapacity(of: key) == nil)
        #expect(pool.setCapacity(2, of: 100, key) == [])
        #expect(pool.setCapacity(0, of: 100, key) == [])
        #expect(pool.knownCapacity(of: key) == 2)
    }

    @Test func `attempts that are sent again keep their order, before all others`() {
        var pool = opened(capacity: 3, connections: 1)
        #expect(pool.ask(8, for: key, limit: 1) == .wait)
        for waiter in 9...11 {
            #expect(pool.ask(UInt64(waiter), for: key, limit: 1, isReplay: true, avoiding: 100) == .wait)
        }
        for waiter: UInt64 in [9, 10, 11, 8] {
            #expect(pool.release(100, of: key, now: 1) == .next([.lend(waiter, 100)]))
        }
    }

    @Test func `an idle connection expires, a used one does not`() {
        var pool = opened(capacity: 2, connections: 1)
        #expect(pool.expire(now: 1000) == [])
        #expect(pool.release(100, of: key, now: 1000) == .next([]))
        #expect(pool.release(100, of: key, now: 1000) == .idle(.keep))
        #expect(pool.nextExpiry == 1060)
        #expect(pool.counts == counts(idle: 1, http2: 1))
        #expect(pool.expire(now: 1060) == [100])
        #expect(pool.counts == counts())
    }

    @Test func `plain http shares connections only with prior knowledge`() {
        let url = HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/")
        #expect(!PoolKey(url, version: .auto).mayBeShared)
        #expect(PoolKey(url, version: .auto) == PoolKey(url, version: .http11))
        #expect(PoolKey(url, version: .http2).mayBeShared)
    }

    /// A pool with connections 100, 101, …, all slots of which are used.
    private func opened(capacity: Int, connections: Int) -> PoolMachine {
        var pool = PoolMachine()
        var waiter: UInt64 = 1
        for connection in 0..<connections {
            #expect(pool.ask(waiter, for: key, limit: connections) == .open)
            _ = pool.opened(UInt64(100 + connection), of: key, capacity: capacity, now: 0)
            for _ in 1..<capacity {
                waiter += 1
                _ = pool.ask(waiter, for: key, limit: connections)
            }
            waiter += 1
        }
        return pool
    }

    private func counts(busy: Int = 0, idle: Int = 0, http2: Int = 0, streams: Int = 0) -> PoolMachine.Counts {
        var counts = PoolMachine.Counts(busy: busy, idle: idle)
        counts.http2 = http2
        counts.streams = streams
        return counts
    }
}
