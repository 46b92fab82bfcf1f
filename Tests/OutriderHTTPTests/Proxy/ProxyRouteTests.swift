// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Who may use whose connection through a proxy, and what a proxy is told.
@Suite struct ProxyRouteTests {
    private static func attempt(_ url: String, _ proxy: String?) throws -> Attempt {
        var attempt = Attempt(method: "GET", url: try HTTPURL(parsing: url), fields: [])
        let server = try proxy.map { try ProxyServer(parsing: $0) }
        attempt.proxies = ProxyRules(http: server, https: server)
        return attempt
    }

    private static func key(_ attempt: Attempt) -> PoolKey {
        PoolKey(attempt.url, proxy: attempt.route)
    }

    @Test func `connections differ by their proxy, and tunnels by who asked for them`() throws {
        var keys: Set<PoolKey> = []
        for url in ["http://h/", "https://h/"] {
            for proxy in [nil, "p:1", "p:2", "https://p:1", "socks5://p:1", "socks5h://p:1"] {
                keys.insert(Self.key(try Self.attempt(url, proxy)))
            }
        }
        #expect(keys.count == 12)
        var signed = try Self.attempt("https://h/", "p:1")
        for user in ["ada", "bob"] {
            signed.proxyAuthorization = ProxyAuthorization("Basic x", UserCredential(user, "x"))
            keys.insert(Self.key(signed))
        }
        #expect(keys.count == 14)
        for user in ["ada", "bob"] { keys.insert(Self.key(try Self.attempt("http://h/", "socks5://\(user):x@p:1"))) }
        #expect(keys.count == 16)
    }

    @Test func `a connection for forwarding belongs to all clients`() throws {
        var one = try Self.attempt("http://h/", "http://ada:x@p:1")
        let other = try Self.attempt("http://h/other", "http://p:1")
        one.proxyAuthorization = ProxyAuthorization("Basic x", UserCredential("ada", "x"))
        #expect(Self.key(one) == Self.key(other))
        #expect(one.route?.isTunnel == false && one.route?.server.credential == nil)
    }

    @Test func `what a redirect leads to is told nothing that was for a proxy`() throws {
        var attempt = try Self.attempt("https://h/", "http://ada:x@p:1")
        // it is no field, and no field may look like it
        attempt.proxyAuthorization = ProxyAuthorization("Basic x", UserCredential("ada", "x"))
        #expect(!attempt.wireFields.list.contains { $0.name.hasPrefix("Proxy") })
        #expect(FieldRules.fault(inField: "Proxy-Authorization", "Basic x") != nil)
    }

    @Test(arguments: [
        ("http://p:3128", "-x 'http://p:3128'"), ("http://u:secret@p:3128", "-x 'http://u:***@p:3128'"),
        ("socks5h://u:secret@p", "-x 'socks5h://u:***@p:1080'"),
    ])
    func `a curl command names the proxy, and masks its password`(proxy: String, words: String) throws {
        let attempt = try Self.attempt("http://h/", proxy)
        #expect(CurlCommand(attempt).text.contains(words))
        #expect(!CurlCommand(attempt).text.contains("secret"))
        #expect(CurlCommand(attempt, .none).text.contains("secret") == proxy.contains("secret"))
        #expect(CurlCommand(try Self.attempt("http://h/", nil)).text.contains("--noproxy '*'"))
        #expect(!CurlCommand(Attempt(method: "GET", url: attempt.url, fields: [])).text.contains("proxy"))
    }

    // MARK: who asks

    @Test func `what was given with a proxy is said at once, as Basic, unless that is ruled out [M13]`() throws {
        let proxy = try HTTPURL(parsing: "http://proxy.test:3128/")
        let other = try HTTPURL(parsing: "http://other.test:3128/")
        var spaces = ProtectionSpaces()
        var machine = AuthenticationMachine(source: .proxy)
        machine.know(UserCredential("ada", "x"), at: proxy)
        machine.begin(at: proxy)
        #expect(machine.early(proxy, &spaces)?.scheme == .basic)
        #expect(machine.early(other, &spaces) == nil)
        var careful = AuthenticationMachine(source: .proxy)
        careful.know(UserCredential("ada", "x", schemes: [.digest]), at: proxy)
        careful.begin(at: proxy)
        #expect(careful.early(proxy, &spaces) == nil && careful.mayBeChallenged(at: proxy, spaces))
    }

    @Test func `a proxy that wants Digest instead gets it, and one that does not believe Basic gets no more [M4]`()
        throws
    {
        let proxy = try HTTPURL(parsing: "http://proxy.test:3128/")
        func step(_ offer: String, afterwards: Bool = false) -> AuthenticationMachine.Step {
            var spaces = ProtectionSpaces()
            var machine = AuthenticationMachine(source: .proxy)
            machine.know(UserCredential("ada", "x"), at: proxy)
            machine.begin(at: proxy)
            let early = machine.early(proxy, &spaces)
            return machine.challenged(
                ChallengeScanner.challenges(in: [offer]), by: .proxy, at: proxy, sent: early, &spaces, clientNonce: "c")
        }
        guard case .sign(let signature) = step("Digest realm=a, nonce=b") else {
            Issue.record("the Digest challenge was left")
            return
        }
        #expect(signature.scheme == .digest && signature.space.source == .proxy)
        guard case .leave = step("Basic realm=a") else {
            Issue.record("a refused password was tried again")
            return
        }
    }
}
