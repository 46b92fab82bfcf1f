// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Counts are those of apply, refresh, didRequestFail and isRequestAuthenticatedWith.
struct TokenMachineTests {
    @Test func `a good token is applied and no server is asked [3.J.1]`() throws {
        var one = try Interceptors()
        one.send(1, 200)
        one.finish()
        #expect(one.exchanges[1]?.end == .status(200, "a0"))
        #expect(one.counts == [1, 0, 0, 0])
    }

    @Test func `requests that wait for a refresh in vain are not adapted, and the next asks again [3.J.2] [L7] [L8]`()
        throws
    {
        var some = try Interceptors(Interceptors.expired)
        for id in 1...3 { some.send(id, 200) }
        some.finish(refreshing: false)
        for id in 1...3 {
            #expect(some.exchanges[id]?.end == .notAdapted(.refreshFailed(Interceptors.failure)))
        }
        #expect(some.counts == [0, 1, 0, 0])
        #expect(some.machine.access == Interceptors.expired)
    }

    @Test func `requests that come while a token is refreshed before its use get the new one [3.J.3] [L4] [L6] [L12]`()
        throws
    {
        var two = try Interceptors(Interceptors.expired)
        two.send(1, 200)
        two.send(2, 202)
        two.finish()
        #expect(two.exchanges[1]?.end == .status(200, "a1"))
        #expect(two.exchanges[2]?.end == .status(202, "a1"))
        #expect(two.counts == [2, 1, 0, 0])
    }

    @Test func `without a credential nothing is sent [3.J.5] [L11]`() throws {
        var one = try Interceptors(nil)
        one.send(1, 200)
        #expect(one.exchanges[1]?.end == .notAdapted(.missingCredential))
        #expect(one.counts == [0, 0, 0, 0])
    }

    @Test func `a refresh that fails before a single request is its failure [3.J.6]`() throws {
        var one = try Interceptors(Interceptors.expired)
        one.send(1, 200)
        one.finish(refreshing: false)
        #expect(one.exchanges[1]?.end == .notAdapted(.refreshFailed(Interceptors.failure)))
        #expect(one.counts == [0, 1, 0, 0])
    }

    @Test func `a request without a response says nothing about the token [3.J.7]`() throws {
        var one = try Interceptors()
        one.send(1, 200)
        let used = try #require(one.machine.access)
        #expect(one.machine.retry(1, isRefused: nil, used: used, at: one.now) == .leave)
        #expect(one.counts == [1, 0, 0, 0])
    }

    @Test func `a failure of another kind is left alone [3.J.8]`() throws {
        var one = try Interceptors()
        one.send(1, 500)
        one.finish()
        #expect(one.exchanges[1]?.end == .status(500, "a0"))
        #expect(one.counts == [1, 0, 1, 0])
    }

    @Test func `a credential that was taken away meanwhile ends a refused request [3.J.9] [L9]`() throws {
        var one = try Interceptors()
        one.send(1, 401)
        one.set(nil)
        one.finish()
        #expect(one.exchanges[1]?.end == .notRetried(.missingCredential, "a0"))
        #expect(one.counts == [1, 0, 1, 0])
    }

    @Test func `a credential that came from outside meanwhile is used at once [3.J.10] [L9]`() throws {
        var one = try Interceptors()
        one.send(1, 401, 200)
        one.set(AccessToken(Secret("a1"), obtained: one.now))
        one.finish()
        #expect(one.exchanges[1]?.end == .status(200, "a1"))
        #expect(one.exchanges[1]?.retries == 1)
        #expect(one.counts == [2, 0, 1, 1])
    }

    @Test func `a refused token is refreshed and the request repeated [3.J.12] [L5]`() throws {
        var one = try Interceptors()
        one.send(1, 401, 200)
        one.finish()
        #expect(one.exchanges[1]?.end == .status(200, "a1"))
        #expect(one.exchanges[1]?.retries == 1)
        #expect(one.counts == [2, 1, 1, 1])
    }

    @Test func `a refresh that fails after a refusal ends the request with it [3.J.14]`() throws {
        var one = try Interceptors()
        one.send(1, 401)
        one.finish(refreshing: false)
        #expect(one.exchanges[1]?.end == .notRetried(.refreshFailed(Interceptors.failure), "a0"))
        #expect(one.exchanges[1]?.retries == 0)
        #expect(one.counts == [1, 1, 1, 1])
    }

    @Test func `one refresh that fails ends all that were refused [3.J.15]`() throws {
        var three = try Interceptors()
        for id in 1...3 { three.send(id, 401) }
        three.finish(refreshing: false)
        for id in 1...3 {
            #expect(three.exchanges[id]?.end == .notRetried(.refreshFailed(Interceptors.failure), "a0"))
        }
        #expect(three.counts == [3, 1, 3, 3])
    }

    @Test func `after a refresh that failed a new request begins another [3.J.16] [L8]`() throws {
        var two = try Interceptors()
        two.send(1, 401)
        two.finish(refreshing: false)
        two.send(2, 401)
        two.finish(refreshing: false)
        #expect(two.exchanges[2]?.end == .notRetried(.refreshFailed(Interceptors.failure), "a0"))
        #expect(two.counts == [2, 2, 2, 2])
    }

    @Test func `six that are refused at once are worth one refresh [3.J.17] [L12]`() throws {
        var six = try Interceptors()
        for id in 0..<6 { six.send(id, 401, 200 + id) }
        six.finish()
        for id in 0..<6 {
            #expect(six.exchanges[id]?.end == .status(200 + id, "a1"))
            #expect(six.exchanges[id]?.retries == 1)
        }
        #expect(six.counts == [12, 1, 6, 6])
    }

    @Test func `without a window there is no end of refreshes [3.J.18] [L2]`() throws {
        var one = try Interceptors(window: nil)
        one.send(1, 401, 401, 401, 401, 401, 200)
        one.finish()
        #expect(one.exchanges[1]?.end == .status(200, "a5"))
        #expect(one.exchanges[1]?.retries == 5)
        #expect(one.counts == [6, 5, 5, 5])
    }

    @Test func `too many refreshes in the window are refused, and it moves on [3.J.19] [L2] [L11]`() throws {
        var one = try Interceptors(window: RefreshWindow(interval: 30, maximumAttempts: 2))
        one.send(1, 401)
        one.finish()
        #expect(one.exchanges[1]?.end == .notRetried(.excessiveRefresh, "a2"))
        #expect(one.exchanges[1]?.retries == 2)
        #expect(one.counts == [3, 2, 3, 3])
        one.now.boot += 29.9
        one.send(2, 401, 200)
        one.finish()
        #expect(one.exchanges[2]?.end == .notRetried(.excessiveRefresh, "a2"))
        one.now.boot += 0.2
        one.send(3, 401, 200)
        one.finish()
        #expect(one.exchanges[3]?.end == .status(200, "a3"))
    }

    @Test func `three that wait for a token that is stale when it comes all fail by the window [3.J.21]`() throws {
        var three = try Interceptors(Interceptors.expired, window: RefreshWindow(interval: 30, maximumAttempts: 1))
        three.lifetime = -1
        for id in 1...3 { three.send(id, 200) }
        three.finish()
        for id in 1...3 { #expect(three.exchanges[id]?.end == .notAdapted(.excessiveRefresh)) }
        #expect(three.counts == [0, 1, 0, 0])
    }

    @Test func `a request that comes during the refresh of a refused token does not wait [3.J.23]`() throws {
        var two = try Interceptors()
        two.send(1, 401, 200)
        two.respond()
        two.send(2, 200)
        #expect(two.onWire == [2])
        two.finish()
        #expect(two.exchanges[1]?.end == .status(200, "a1"))
        #expect(two.exchanges[2]?.end == .status(200, "a0"))
        #expect(two.counts == [3, 1, 1, 1])
    }

    @Test func `held, it does wait, and is never refused`() throws {
        var two = try Interceptors(holds: true)
        two.send(1, 401, 200)
        two.respond()
        two.send(2, 200)
        #expect(two.onWire.isEmpty)
        two.finish()
        #expect(two.exchanges[2]?.end == .status(200, "a1"))
        #expect(two.counts == [3, 1, 1, 1])
    }

    @Test func `a refresh that ends before anything else happens is as good as a later one [3.J.26] [L1] [L10]`() throws
    {
        var one = try Interceptors()
        one.send(1, 401, 200)
        one.respond()
        one.refresh()
        one.finish()
        #expect(one.exchanges[1]?.end == .status(200, "a1"))
        #expect(one.counts == [2, 1, 1, 1])
    }

    @Test func `a credential that was taken away before is missing [3.J.28] [L9]`() throws {
        var one = try Interceptors()
        one.set(nil)
        one.send(1, 200)
        #expect(one.exchanges[1]?.end == .notAdapted(.missingCredential))
        #expect(one.counts == [0, 0, 0, 0])
    }

    @Test func `a window of none refuses the first refresh [3.J.29]`() throws {
        var one = try Interceptors(window: RefreshWindow(interval: 30, maximumAttempts: 0))
        one.send(1, 401)
        one.finish()
        #expect(one.exchanges[1]?.end == .notRetried(.excessiveRefresh, "a0"))
        #expect(one.counts == [1, 0, 1, 1])
    }

    @Test func `a refresh ahead of time that failed is tried again by the next request [3.J.31] [L8]`() throws {
        var two = try Interceptors(Interceptors.expired)
        two.send(1, 200)
        two.finish(refreshing: false)
        two.send(2, 200)
        two.finish(refreshing: false)
        #expect(two.exchanges[2]?.end == .notAdapted(.refreshFailed(Interceptors.failure)))
        #expect(two.counts == [0, 2, 0, 0])
    }

    @Test func `a refusal of an older token does not have the new one refreshed [L5]`() throws {
        var two = try Interceptors()
        two.send(1, 401, 200)
        two.send(2, 401, 200)
        two.respond()
        two.refresh()
        #expect(!two.machine.isRefreshing)
        two.finish()
        #expect(two.exchanges[2]?.end == .status(200, "a1"))
        #expect(two.counts == [4, 1, 2, 2])
    }

    @Test func `while its refresh lasts, a token that has not ended serves those who waited long enough`() throws {
        let now = ClockPair(wall: 1e9, boot: 1000)
        let due = AccessToken(
            Secret("a0"), obtained: ClockPair(wall: now.wall - 3500, boot: now.boot - 3500),
            expires: ClockPair(wall: now.wall + 100, boot: now.boot + 100))
        var spec = CredentialSpec(
            name: "test", clientID: "test", endpoints: OAuthEndpoints(token: try HTTPURL(parsing: "http://127.0.0.1/")),
            grant: .refresh)
        var machine = TokenMachine(TokenRules(spec))
        _ = machine.took(due, generation: 1, isObtainable: true, at: now, chance: 0.5)
        #expect(machine.adapt(1, at: now) == .refresh && machine.adapt(2, at: now) == .wait)
        #expect(machine.serves(at: now) && machine.useStaleToken(at: now) == .apply(due, 1))
        #expect(machine.counts.apply == 1)
        // it has ended by one of the clocks
        let late = ClockPair(wall: now.wall, boot: now.boot + 100)
        #expect(!machine.serves(at: late) && machine.useStaleToken(at: late) == nil)
        // a server has refused it meanwhile
        #expect(machine.retry(3, isRefused: true, used: due, at: now) == .wait)
        #expect(!machine.serves(at: now) && machine.useStaleToken(at: now) == nil)
        // or the rules say that requests wait
        spec.holds = true
        machine = TokenMachine(TokenRules(spec))
        _ = machine.took(due, generation: 1, isObtainable: true, at: now, chance: 0.5)
        #expect(machine.adapt(1, at: now) == .refresh && machine.useStaleToken(at: now) == nil)
    }

    @Test func `what a refresh brings is given to those who waited, however short it lasts`() throws {
        let endpoints = OAuthEndpoints(token: try HTTPURL(parsing: "http://127.0.0.1/"))
        var machine = TokenMachine(
            TokenRules(CredentialSpec(name: "test", clientID: "test", endpoints: endpoints, grant: .refresh)))
        let now = ClockPair(wall: 1e9, boot: 1000)
        func token(_ text: String, obtained ago: Double, lasting left: Double) -> AccessToken {
            AccessToken(
                Secret(text), obtained: ClockPair(wall: now.wall - ago, boot: now.boot - ago),
                expires: ClockPair(wall: now.wall + left, boot: now.boot + left))
        }
        _ = machine.took(nil, generation: 1, isObtainable: true, at: now, chance: 0.5)
        #expect(machine.adapt(1, at: now) == .refresh)
        #expect(machine.adapt(2, for: .broker(minValidity: 60), at: now) == .wait)
        // the server took two of its three seconds
        let short = token("a1", obtained: 2, lasting: 1)
        let release = machine.took(short, generation: 2, isObtainable: true, at: now, chance: 0.5)
        #expect(release.steps == [1: .apply(short, 2), 2: .apply(short, 2)] && !release.refreshes)
        // the next one asks whether it gets a better one, as it is due
        #expect(machine.adapt(3, at: now) == .refresh)
        let half = token("a2", obtained: 0, lasting: 30)
        _ = machine.took(half, generation: 3, isObtainable: true, at: now, chance: 0.5)
        #expect(machine.adapt(4, for: .broker(minValidity: 60), at: now) == .apply(half, 3))
        // one that has ended when it comes is of no use
        let late = ClockPair(wall: now.wall + 20, boot: now.boot + 20)
        #expect(machine.adapt(5, at: late) == .refresh)
        let ended = machine.took(short, generation: 4, isObtainable: true, at: late, chance: 0.5)
        #expect(ended.refreshes && ended.steps.isEmpty)
        // of a token from outside, it is unknown that there is no better one
        _ = machine.took(half, generation: 5, isObtainable: true, at: now, chance: 0.5)
        _ = machine.took(half, generation: 6, isObtainable: true, at: now, chance: 0.5)
        #expect(machine.adapt(6, for: .broker(minValidity: 60), at: now) == .refresh)
    }

    @Test func `what all processes wait for is waited for as long as it lasts, and is no failure of its own`() throws {
        let endpoints = OAuthEndpoints(token: try HTTPURL(parsing: "http://127.0.0.1/"))
        var machine = TokenMachine(
            TokenRules(CredentialSpec(name: "test", clientID: "test", endpoints: endpoints, grant: .refresh)))
        var now = ClockPair(wall: 1e9, boot: 1000)
        _ = machine.took(nil, generation: 1, isObtainable: true, at: now, chance: 0.5)
        for id in 1...3 {
            #expect(machine.adapt(id, at: now) == .refresh)
            let paused = OAuthFailure(.temporary, "paused", "left alone", retryAfter: 12)
            let release = machine.refreshFailed(paused, flight: id, at: now, chance: 0.5)
            #expect(release.steps == [id: .fail(.refreshFailed(paused))])
            now.boot += 11.9
            #expect(machine.adapt(10, at: now) == .fail(.refreshFailed(paused)))
            now.boot += 0.2
        }
        // the first failure of the server itself is followed by no pause
        #expect(machine.adapt(4, at: now) == .refresh)
        _ = machine.refreshFailed(Interceptors.failure, flight: 4, at: now, chance: 0.5)
        #expect(machine.adapt(5, at: now) == .refresh)
    }

    @Test(arguments: 0..<300)
    func `in every order no request waits for ever, and there is one refresh at a time [L3] [L12]`(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let window = RefreshWindow(interval: 30, maximumAttempts: Int.random(in: 0...4, using: &random))
        var some = try Interceptors(
            Bool.random(using: &random)
                ? Interceptors.expired : AccessToken(Secret("a0"), obtained: ClockPair(wall: 0, boot: 0)),
            window: Bool.random(using: &random) ? window : nil, holds: Bool.random(using: &random))
        var sent = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                sent += 1
                some.send(sent, Int.random(in: 0..<2, using: &random) == 0 ? 401 : 200, 401, 200)
            case 4..<7: some.respond()
            case 7 where some.machine.isRefreshing: some.refresh()
            case 8 where some.machine.isRefreshing: some.failRefresh()
            case 9:
                some.now.boot += Double.random(in: 0...20, using: &random)
                some.now.wall += Double.random(in: -5...20, using: &random)
                if Int.random(in: 0..<5, using: &random) == 0 {
                    some.set(AccessToken(Secret("s\(sent)"), obtained: some.now))
                }
            default: break
            }
            #expect(some.refreshes == some.machine.counts.refresh)
            if !some.machine.isRefreshing { #expect(some.machine.waiters == 0) }
        }
        some.finish()
        #expect(some.machine.waiters == 0)
        for id in stride(from: 1, through: sent, by: 1) {
            #expect(some.exchanges[id]?.end != nil, "request \(id)")
        }
    }
}
