// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct PoolKeyTests {
    private let url = HTTPURL(scheme: .https, host: "a", port: 443, target: "/")

    @Test func `keys of equal properties are equal, and their hashes, whether or not they share storage`() {
        let key = PoolKey(url, version: .auto)
        let copy = key
        #expect(key.isSame(as: copy) && key == copy)
        #expect(!key.isSame(as: PoolKey(url, version: .auto)))
        #expect(key == PoolKey(url, version: .auto) && key.hashValue == PoolKey(url, version: .auto).hashValue)
    }

    @Test func `a changed key differs from its copies`() {
        let key = PoolKey(url, version: .auto)
        var (version, target, security) = (key, key, key)
        version.version = .http11
        target.connectTo = ConnectTarget("b:1")
        security.security = ConnectionSecurity(.none, .standard)
        #expect(Set([key, version, target, security]).count == 4 && key.version == .auto && key.connectTo == nil)
    }

    @Test func `a key is direct for its own origin, security, addresses and version alone`() {
        let key = PoolKey(url, version: .auto)
        #expect(key.isDirect(url, .standard, .any, .auto))
        #expect(!key.isDirect(url, .standard, .publicOnly, .auto) && !key.isDirect(url, .standard, .any, .http2))
        let others: [HTTPURL] = [
            HTTPURL(scheme: .http, host: "a", port: 443, target: "/"),
            HTTPURL(scheme: .https, host: "b", port: 443, target: "/"),
            HTTPURL(scheme: .https, host: "a", port: 444, target: "/"),
            HTTPURL(scheme: .https, host: "a", port: 443, target: "/", socketPath: "/s"),
        ]
        for other in others { #expect(!key.isDirect(other, .standard, .any, .auto)) }
        let own = ConnectionSecurity(.none, .standard)
        var changed = key
        changed.security = own
        #expect(!changed.isDirect(url, .standard, .any, .auto) && changed.isDirect(url, own, .any, .auto))
    }

    @Test func `a place is found again after others have come and gone`() {
        var pool = PoolMachine()
        let keys = (0..<40).map { PoolKey(HTTPURL(scheme: .http, host: "h\($0)", port: 80, target: "/")) }
        for (number, key) in keys.enumerated() {
            let id = UInt64(number)
            #expect(pool.ask(id, for: key, limit: 1) == .open)
            #expect(pool.ask(id &+ 100, for: key, limit: 1) == .wait)
            if number > 0 { #expect(pool.ask(id &+ 200, for: keys[number - 1], limit: 1) == .wait) }
        }
        for (number, key) in keys.enumerated() {
            let id = UInt64(number)
            #expect(pool.takeBack(id, of: key, now: 0) == .lend(id &+ 100))
            if number < 39 { #expect(pool.takeBack(id, of: key, now: 0) == .lend(id &+ 201)) }
            #expect(pool.ended(of: key) == nil)
        }
        #expect(pool.counts == .init())
    }
}
