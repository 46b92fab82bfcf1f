// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// How one exchange meets challenges.
@Suite struct AuthenticationMachineTests {
    private static let ada = UserCredential("ada", "s3cret")

    /// A machine with what is around it, driven by the texts of challenges.
    private struct Stage {
        var machine: AuthenticationMachine
        var spaces: ProtectionSpaces
        var sent: Signature?
        var source = ChallengeSource.origin

        init(own: UserCredential? = nil, hasCallback: Bool = false, _ entries: [ProtectionSpaces.Entry] = []) {
            machine = AuthenticationMachine(own: own, hasCallback: hasCallback)
            spaces = ProtectionSpaces(entries)
        }

        /// What follows, as text: `ada:digest`, `ask`, `leave`.
        mutating func challenged(_ fields: String..., at text: String = "http://127.0.0.1/a") throws -> String {
            let url = try HTTPURL(parsing: text)
            let offers = ChallengeScanner.challenges(in: fields)
            return shown(
                machine.challenged(offers, by: source, at: url, sent: sent, &spaces, clientNonce: "c"))
        }

        mutating func replied(_ credential: UserCredential?) -> String {
            shown(machine.replied(credential, isKept: true, &spaces, clientNonce: "c"))
        }

        mutating func early(_ text: String = "http://127.0.0.1/a") throws -> String? {
            sent = machine.early(try HTTPURL(parsing: text), &spaces)
            return sent.map(Self.shown)
        }

        mutating func begin(_ text: String = "http://127.0.0.1/a") throws {
            machine.begin(at: try HTTPURL(parsing: text))
        }

        private static func shown(_ signature: Signature) -> String {
            guard case .digest(let challenge, _, _) = signature.proof else {
                return "\(signature.credential.username):basic"
            }
            return "\(signature.credential.username):\(challenge.algorithm.rawValue)"
        }

        private mutating func shown(_ step: AuthenticationMachine.Step) -> String {
            switch step {
            case .sign(let signature):
                sent = signature
                return Self.shown(signature)
            case .callback: return "ask"
            case .leave: return "leave"
            }
        }
    }

    private static func digest(_ nonce: String = "n", realm: String = "vault", more: String = "") -> String {
        "Digest realm=\"\(realm)\", qop=auth, nonce=\"\(nonce)\"\(more)"
    }

    @Test(
        "the strongest scheme on offer is used, in whatever order they come",
        arguments: [
            (["Basic realm=a", digest(), digest(more: ", algorithm=SHA-256")], "ada:SHA-256"),
            ([digest(more: ", algorithm=SHA-512-256"), digest(), "Basic realm=a"], "ada:SHA-512-256"),
            (["Negotiate, Basic realm=a, " + digest()], "ada:MD5"),
            (["Bearer realm=a", "Basic realm=a"], "ada:basic"),
            ([digest(more: ", algorithm=UNKNOWN"), "Basic realm=a"], "ada:basic"),
            (["Negotiate", "NTLM", "Bearer"], "leave"),
            ([], "leave"),
        ] as [([String], String)])
    func strongest(fields: [String], expected: String) throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(fields.joined(separator: ", ")) == expected)
    }

    @Test(
        "Basic is used on a confidential route, or where it was named",
        arguments: [
            ("http://example.org/", nil, "leave"), ("http://example.org/", [.basic], "ada:basic"),
            ("https://example.org/", nil, "ada:basic"), ("http://localhost/", nil, "ada:basic"),
            ("http://127.3.2.1/", nil, "ada:basic"), ("http://[::1]/", nil, "ada:basic"),
            ("http+unix://%2Ftmp%2Fs/", nil, "ada:basic"), ("http://127.0.0.1.example/", nil, "leave"),
            ("https://example.org/", [.digest], "leave"),
        ] as [(String, [UserCredential.Scheme]?, String)])
    func safe(url: String, schemes: [UserCredential.Scheme]?, expected: String) throws {
        var stage = Stage(own: UserCredential("ada", "s3cret", schemes: schemes))
        try stage.begin(url)
        #expect(try stage.challenged("Basic realm=\"a\"", at: url) == expected)
    }

    @Test func `a wrong password is tried once [M4]`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest()) == "ada:MD5")
        #expect(try stage.challenged(Self.digest("m")) == "leave")
        // nor in another attempt, nor in a weaker way
        try stage.begin()
        #expect(try stage.early() == nil)
        #expect(try stage.challenged(Self.digest("o")) == "leave")
        #expect(try stage.challenged(Self.digest("o"), "Basic realm=\"vault\"") == "leave")
    }

    @Test func `a wrong password is tried once, whatever the realm is called then [M4]`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest("1", realm: "a")) == "ada:MD5")
        #expect(try stage.challenged(Self.digest("2", realm: "b")) == "leave")
        #expect(try stage.challenged(Self.digest("3", realm: "c")) == "leave")
    }

    @Test func `a server that takes its offer back does not get to see the password`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest(), "Basic realm=a") == "ada:MD5")
        #expect(try stage.challenged("Basic realm=another") == "leave")
    }

    @Test func `a stale nonce is replaced, but not for ever [M11]`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest("0")) == "ada:MD5")
        for number in 1...AuthenticationMachine.mostStale {
            #expect(try stage.challenged(Self.digest("\(number)", more: ", stale=true")) == "ada:MD5")
        }
        #expect(try stage.challenged(Self.digest("last", more: ", stale=true")) == "leave")
    }

    @Test func `a guess with an old nonce is no failure, even if the server does not say stale [M11]`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest("old")) == "ada:MD5")
        let url = try HTTPURL(parsing: "http://127.0.0.1/a")
        stage.machine.accepted(try #require(stage.sent), at: url, &stage.spaces)
        try stage.begin()
        #expect(try stage.early() == "ada:MD5")
        #expect(try stage.challenged(Self.digest("new")) == "ada:MD5")
        #expect(try stage.challenged(Self.digest("newer")) == "leave")
    }

    @Test func `a nonce that others used up is no failure once, although the server does not say stale`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin()
        #expect(try stage.challenged(Self.digest("old")) == "ada:MD5")
        let url = try HTTPURL(parsing: "http://127.0.0.1/a")
        stage.machine.accepted(try #require(stage.sent), at: url, &stage.spaces)
        try stage.begin()
        #expect(try stage.early() == "ada:MD5")
        #expect(try stage.challenged(Self.digest("new")) == "ada:MD5")
        // another request takes the new nonce, too
        _ = stage.spaces.early(url, own: Self.ada)
        #expect(try stage.challenged(Self.digest("newer")) == "ada:MD5")
        #expect(try stage.challenged(Self.digest("newest")) == "leave")
    }

    @Test func `its own credential stays at the origin where the request began [M10]`() throws {
        var stage = Stage(own: Self.ada)
        try stage.begin("http://127.0.0.1/a")
        for other in ["http://127.0.0.1:81/a", "https://127.0.0.1/a", "http://localhost/a"] {
            #expect(try stage.challenged(Self.digest(), at: other) == "leave", "\(other)")
        }
        #expect(try stage.challenged(Self.digest()) == "ada:MD5")
        // not even where a later attempt begins
        try stage.begin("http://127.0.0.1:81/a")
        stage.sent = nil
        #expect(try stage.challenged(Self.digest(), at: "http://127.0.0.1:81/a") == "leave")
    }

    @Test func `its own credential comes before those of its session, and alone [M3]`() throws {
        let entry = ProtectionSpaces.Entry(
            UserCredential("session", "p"), for: try HTTPURL(parsing: "http://127.0.0.1/"))
        var own = Stage(own: Self.ada, [entry])
        try own.begin()
        #expect(try own.challenged(Self.digest()) == "ada:MD5")
        #expect(try own.challenged(Self.digest("m")) == "leave")
        var others = Stage([entry, ProtectionSpaces.Entry(Self.ada, for: try HTTPURL(parsing: "http://127.0.0.1/"))])
        try others.begin()
        #expect(try others.challenged(Self.digest()) == "session:MD5")
        #expect(try others.challenged(Self.digest("m")) == "ada:MD5")
        #expect(try others.challenged(Self.digest("o")) == "leave")
    }

    @Test func `the client's code is called when nothing else helps, three times at most [M9]`() throws {
        var stage = Stage(own: Self.ada, hasCallback: true)
        try stage.begin()
        #expect(try stage.challenged(Self.digest("1")) == "ada:MD5")
        for number in 2...4 {
            #expect(try stage.challenged(Self.digest("\(number)")) == "ask")
            #expect(stage.replied(UserCredential("other", "\(number)")) == "other:MD5")
        }
        #expect(try stage.challenged(Self.digest("5")) == "leave")
        var silent = Stage(hasCallback: true)
        try silent.begin()
        #expect(try silent.challenged(Self.digest()) == "ask")
        #expect(silent.replied(nil) == "leave")
        #expect(try silent.challenged("Negotiate") == "leave")
    }

    @Test func `a password in another normal form is another password`() throws {
        var stage = Stage(hasCallback: true)
        try stage.begin()
        for password in ["cafe\u{301}", "caf\u{e9}"] {
            #expect(try stage.challenged(Self.digest(password)) == "ask")
            #expect(stage.replied(UserCredential("ada", password)) == "ada:MD5")
        }
    }

    @Test func `a password that may not be sent there does not go there`() throws {
        var stage = Stage(hasCallback: true)
        try stage.begin("http://example.org/")
        #expect(try stage.challenged("Basic realm=a", at: "http://example.org/") == "ask")
        #expect(stage.replied(Self.ada) == "leave")
    }

    @Test func `a proxy with a challenge gets what was given for proxies, and the request's own stays home [M13]`()
        throws
    {
        #expect(ChallengeSource(status: 407) == .proxy && ChallengeSource(status: 403) == nil)
        #expect(ChallengeSource.proxy.challengeField == "Proxy-Authenticate")
        #expect(ChallengeSource.proxy.infoField == "Proxy-Authentication-Info")
        let proxy = try HTTPURL(parsing: "http://127.0.0.1:3128/")
        let entry = ProtectionSpaces.Entry(UserCredential("proxy", "p"), for: proxy, source: .proxy)
        var stage = Stage(own: Self.ada, [entry])
        stage.source = .proxy
        try stage.begin("http://127.0.0.1:3128/")
        #expect(try stage.challenged("Basic realm=a", at: "http://127.0.0.1:3128/") == "proxy:basic")
        #expect(try stage.challenged("Basic realm=a", at: "http://127.0.0.1:3128/") == "leave")
        // what a proxy may know says nothing to the server behind it
        var server = Stage([entry])
        try server.begin("http://127.0.0.1:3128/")
        #expect(try server.challenged("Basic realm=a", at: "http://127.0.0.1:3128/") == "leave")
    }

    /// Servers that say anything, in any order: it always ends, and no nonce has the same count twice.
    @Test func `whatever servers say, an attempt ends, and no count is given twice [M4] [M11]`() throws {
        var random = SeededRandom(seed: 2617)
        let urls = try ["http://127.0.0.1/a", "http://127.0.0.1/b/c", "http://127.0.0.2/"].map {
            try HTTPURL(parsing: $0)
        }
        for _ in 0..<500 {
            var spaces = ProtectionSpaces([ProtectionSpaces.Entry(Self.ada, for: urls[0])])
            var used: Set<String> = []
            for _ in 0..<6 {
                var machine = AuthenticationMachine(
                    own: Bool.random(using: &random) ? Self.ada : nil, hasCallback: true)
                let url = urls.randomElement(using: &random) ?? urls[0]
                machine.begin(at: url)
                var sent = machine.early(url, &spaces)
                var sendings = 0
                while true {
                    if case .digest(let challenge, let count, _)? = sent?.proof {
                        #expect(used.insert("\(challenge.nonce) \(challenge.realm) \(count)").inserted)
                    }
                    if let sent, Int.random(in: 0..<4, using: &random) == 0 {
                        machine.accepted(sent, at: url, &spaces)
                        break
                    }
                    sendings += 1
                    let fresh = "n\(random.next())"
                    let texts = [
                        Self.digest(fresh), Self.digest(fresh, more: ", stale=true"),
                        Self.digest(fresh, realm: "other"),
                        "Basic realm=\"vault\"", "Negotiate",
                    ].shuffled(using: &random)
                    let offers = ChallengeScanner.challenges(in: Array(texts.prefix(2)))
                    var step = machine.challenged(
                        offers, by: .origin, at: url, sent: sent, &spaces, clientNonce: "c")
                    if case .callback = step {
                        step = machine.replied(
                            UserCredential("asked", "\(random.next() % 3)"), isKept: true, &spaces, clientNonce: "c")
                    }
                    guard case .sign(let signature) = step else { break }
                    sent = signature
                }
                #expect(sendings <= AuthenticationMachine.mostSignatures + 1)
            }
        }
    }

    @Test func `a password shows in no description`() {
        var text = "\(Self.ada) \(String(reflecting: Self.ada))"
        dump(Self.ada, to: &text)
        dump(AuthenticationMachine(own: Self.ada), to: &text)
        #expect(!text.contains("s3cret") && text.contains("ada"))
    }
}
