// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct PoolMachineTests {
    private let key = PoolKey(HTTPURL(scheme: .http, host: "a.test", port: 80, target: "/"))
    private let other = PoolKey(HTTPURL(scheme: .http, host: "b.test", port: 80, target: "/"))

    private func machine(_ change: (inout PoolMachine.Config) -> Void = { _ in }) -> PoolMachine {
        var config = PoolMachine.Config()
        change(&config)
        return PoolMachine(config)
    }

    @Test func `connections are opened up to the limit, then attempts wait`() {
        var pool = machine()
        #expect(pool.ask(1, for: key, limit: 2) == .open)
        #expect(pool.ask(2, for: key, limit: 2) == .open)
        #expect(pool.ask(3, for: key, limit: 2) == .wait)
        #expect(pool.ask(4, for: other, limit: 2) == .open)
        #expect(pool.counts == .init(busy: 3, idle: 0, waiting: 1))
    }

    @Test func `waiting for an opening is told from waiting for a place`() {
        var pool = machine()
        let secure = PoolKey(HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/"), version: .auto)
        #expect(pool.ask(1, for: secure, limit: 2) == .open)
        #expect(pool.ask(2, for: secure, limit: 2) == .wait)
        #expect(pool.awaitsOpening(secure) == true)
        #expect(pool.ask(3, for: key, limit: 1) == .open)
        #expect(pool.ask(4, for: key, limit: 1) == .wait)
        #expect(pool.awaitsOpening(key) == false)
    }

    @Test func `who waited longest gets the next connection`() {
        var pool = machine()
        #expect(pool.ask(1, for: key, limit: 1) == .open)
        for waiter in 2...4 { #expect(pool.ask(UInt64(waiter), for: key, limit: 1) == .wait) }
        #expect(pool.cancel(3, of: key) == true)
        #expect(pool.cancel(3, of: key) == false)
        #expect(pool.takeBack(100, of: key, now: 0) == .lend(2))
        #expect(pool.takeBack(100, of: key, now: 0) == .lend(4))
        #expect(pool.takeBack(100, of: key, now: 0) == .keep)
        #expect(pool.counts == .init(busy: 0, idle: 1, waiting: 0))
    }

    @Test func `the end of a connection makes room for a waiter`() {
        var pool = machine()
        #expect(pool.ask(1, for: key, limit: 1) == .open)
        #expect(pool.ask(2, for: key, limit: 1) == .wait)
        #expect(pool.ended(of: key) == .open(2))
        #expect(pool.ended(of: key) == nil)
        #expect(pool.counts == .init())
    }

    @Test func `a waiter with a smaller limit goes on waiting`() {
        var pool = machine()
        for waiter in 1...3 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .open) }
        #expect(pool.ask(4, for: key, limit: 1) == .wait)
        #expect(pool.ended(of: key) == nil)
        #expect(pool.ended(of: key) == nil)
        #expect(pool.ended(of: key) == .open(4))
    }

    @Test func `clients take turns, the one with the fewest connections first`() {
        var pool = machine()
        let (large, small) = (PoolHolder(client: ClientKey(1)), PoolHolder(client: ClientKey(2)))
        for waiter in 1...2 { #expect(pool.ask(UInt64(waiter), for: key, limit: 2, holder: large) == .open) }
        for waiter in 3...6 { #expect(pool.ask(UInt64(waiter), for: key, limit: 2, holder: large) == .wait) }
        for waiter in 7...8 { #expect(pool.ask(UInt64(waiter), for: key, limit: 2, holder: small) == .wait) }
        #expect(pool.takeBack(100, of: key, by: large, now: 0) == .lend(7))
        // each has one now
        #expect(pool.takeBack(101, of: key, by: large, now: 0) == .lend(3))
        #expect(pool.takeBack(100, of: key, by: small, now: 0) == .lend(8))
        #expect(pool.takeBack(101, of: key, by: large, now: 0) == .lend(4))
        #expect(pool.ended(of: key, by: small) == .open(5))
        #expect(pool.counts == .init(busy: 2, idle: 0, waiting: 1))
    }

    @Test func `a session keeps to its own limit, and holds back no other requests`() {
        var pool = machine()
        let own = PoolHolder(session: SessionConnections(session: 1, limit: 1))
        let larger = PoolHolder(session: SessionConnections(session: 2, limit: 3))
        #expect(pool.ask(1, for: key, limit: 2, holder: own) == .open)
        #expect(pool.ask(2, for: key, limit: 2, holder: own) == .wait)
        #expect(pool.ask(3, for: key, limit: 2) == .open)
        #expect(pool.takeBack(103, of: key, now: 0) == .keep)
        #expect(pool.ask(4, for: key, limit: 2, holder: own) == .wait)
        #expect(pool.ask(5, for: key, limit: 2) == .lend(103))
        #expect(pool.takeBack(103, of: key, now: 0) == .keep)
        // the place of its own that is free again may be any connection
        #expect(pool.ended(of: key, by: own) == .lend(2, 103))
        #expect(pool.takeBack(103, of: key, by: own, now: 0) == .lend(4))
        // a limit above that of the service counts
        for waiter in 6...7 { #expect(pool.ask(UInt64(waiter), for: key, limit: 2, holder: larger) == .open) }
        #expect(pool.ask(8, for: key, limit: 2, holder: larger) == .wait)
    }

    @Test func `the youngest idle connection is lent first`() {
        var pool = machine()
        for waiter in 1...3 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .open) }
        for connection in 11...13 {
            #expect(pool.takeBack(UInt64(connection), of: key, now: Double(connection)) == .keep)
        }
        #expect(pool.ask(5, for: key, limit: 3) == .lend(13))
        #expect(pool.idleEnded(12, of: key) == true)
        #expect(pool.idleEnded(13, of: key) == false)
        #expect(pool.ask(6, for: key, limit: 3) == .lend(11))
        #expect(pool.ask(7, for: key, limit: 3) == .open)
    }

    @Test func `idle connections expire by age, the oldest first`() {
        var pool = machine { $0.idleSeconds = 60 }
        for waiter in 1...2 { #expect(pool.ask(UInt64(waiter), for: key, limit: 2) == .open) }
        #expect(pool.nextExpiry == nil)
        #expect(pool.takeBack(11, of: key, now: 100) == .keep)
        #expect(pool.takeBack(12, of: key, now: 130) == .keep)
        #expect(pool.nextExpiry == 160)
        #expect(pool.expire(now: 159.9) == [])
        #expect(pool.expire(now: 160) == [11])
        #expect(pool.expire(now: 200) == [12])
        #expect(pool.counts == .init())
    }

    @Test func `a connection is not lent, and ends, at the time that its server names`() {
        var pool = machine { $0.idleSeconds = 60 }
        for waiter in 1...3 { #expect(pool.ask(UInt64(waiter), for: key, limit: 3) == .open) }
        #expect(pool.takeBack(11, of: key, now: 100) == .keep)
        #expect(pool.takeBack(12, of: key, now: 101, until: 105) == .keep)
        #expect(pool.takeBack(13, of: key, now: 102, until: 200) == .keep)
        #expect(pool.nextExpiry == 105)
        #expect(pool.ask(4, for: key, limit: 3, now: 104.9) == .lend(13))
        #expect(pool.ask(5, for: key, limit: 3, now: 105) == .lend(11))
        #expect(pool.expire(now: 104.9) == [])
        #expect(pool.expire(now: 105) == [12])
        #expect(pool.takeBack(13, of: key, now: 106, until: 200) == .keep)
        #expect(pool.nextExpiry == 166)
        #expect(pool.counts == .init(busy: 1, idle: 1))
    }

    @Test func `of too many idle connections the oldest is closed`() {
        var pool = machine { $0.idleInAll = 2 }
        #expect(pool.ask(1, for: key, limit: 2) == .open)
        #expect(pool.ask(2, for: key, limit: 2) == .open)
        #expect(pool.ask(3, for: other, limit: 2) == .open)
        #expect(pool.takeBack(11, of: key, now: 2) == .keep)
        #expect(pool.takeBack(13, of: other, now: 1) == .keep)
        #expect(pool.takeBack(12, of: key, now: 3) == .evict(13))
        #expect(pool.counts == .init(busy: 0, idle: 2, waiting: 0))
    }

    @Test func `a queue that is full refuses`() {
        var pool = machine { $0.waitersPerKey = 1 }
        #expect(pool.ask(1, for: key, limit: 1) == .open)
        #expect(pool.ask(2, for: key, limit: 1) == .wait)
        #expect(pool.ask(3, for: key, limit: 1) == .refuse)
        #expect(pool.ask(4, for: other, limit: 0) == .open)
    }

    @Test func `keys differ in everything that makes a connection`() {
        let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/x")
        var keys: Set = [PoolKey(url), PoolKey(url, security: ConnectionSecurity(.none, .standard)), key, other]
        var socket = url
        socket.socketPath = "/s"
        keys.insert(PoolKey(socket))
        var port = url
        port.port = 444
        keys.insert(PoolKey(port))
        #expect(keys.count == 6)
        var target = url
        target.target = "/y"
        #expect(PoolKey(target) == PoolKey(url))
    }

    @Test func `whatever happens, the limit holds and nothing is lost`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var pool = machine { $0.idleInAll = 3 }
            var busy: [UInt64] = []
            var opening = 0
            var waiting: [UInt64] = []
            var idle: Set<UInt64> = []
            var last: UInt64 = 0
            for step in 0..<200 {
                last += 1
                switch UInt8.random(in: 0..<6, using: &random) {
                case 0, 1:
                    switch pool.ask(last, for: key, limit: 4) {
                    case .open: opening += 1
                    case .wait: waiting.append(last)
                    case .lend(let connection):
                        #expect(idle.remove(connection) != nil)
                        busy.append(connection)
                    case .refuse: Issue.record("refused")
                    }
                case 2 where opening > 0:
                    opening -= 1
                    busy.append(last)
                case 3 where !busy.isEmpty:
                    let connection = busy.removeFirst()
                    switch pool.takeBack(connection, of: key, now: Double(step)) {
                    case .lend(let waiter):
                        #expect(waiter == waiting.removeFirst())
                        busy.append(connection)
                    case .keep: idle.insert(connection)
                    case .evict(let oldest):
                        idle.insert(connection)
                        #expect(idle.remove(oldest) != nil)
                    }
                case 4 where !busy.isEmpty || opening > 0:
                    if opening > 0 { opening -= 1 } else { busy.removeLast() }
                    if case .open(let waiter) = pool.ended(of: key) {
                        #expect(waiter == waiting.removeFirst())
                        opening += 1
                    }
                case 5:
                    for connection in pool.expire(now: Double(step) - 20) { #expect(idle.remove(connection) != nil) }
                default: break
                }
                #expect(busy.count + opening <= 4)
                #expect(waiting.isEmpty || busy.count + opening == 4)
                #expect(pool.counts == .init(busy: busy.count + opening, idle: idle.count, waiting: waiting.count))
            }
        }
    }

    @Test func `a request is sent again only if nothing can have happened twice`() {
        func allowed(
            _ method: String, key: Bool = false, reused: Bool = true, began: Bool = false, body: Bool = false,
            before: Bool = false
        ) -> Bool {
            Replay.isAllowed(
                method: method, hasKey: key, wasReused: reused, responseBegan: began, fileBodyBegan: body,
                replayedBefore: before)
        }
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"] { #expect(allowed(method)) }
        for method in ["POST", "PATCH", "get", "BREW"] { #expect(!allowed(method)) }
        #expect(allowed("POST", key: true))
        #expect(!allowed("POST", key: true, began: true) && !allowed("POST", key: true, before: true))
        #expect(!allowed("GET", reused: false))
        #expect(!allowed("GET", began: true))
        #expect(!allowed("PUT", body: true))
        #expect(!allowed("GET", before: true))
    }
}
