// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What a session learns about where its credentials are wanted.
@Suite struct ProtectionSpacesTests {
    private static let ada = UserCredential("ada", "s3cret")

    private static func url(_ text: String = "http://127.0.0.1/private/a") throws -> HTTPURL {
        try HTTPURL(parsing: text)
    }

    private static func digest(_ nonce: String, more: String = "") throws -> DigestChallenge {
        let text = "Digest realm=\"vault\", qop=auth, nonce=\"\(nonce)\"\(more)"
        let found = try #require(ChallengeScanner.challenges(in: [text]).first)
        return try #require(DigestChallenge(found, from: try url()))
    }

    private static func spaces(_ entries: [ProtectionSpaces.Entry]? = nil) throws -> ProtectionSpaces {
        let all = ProtectionSpaces.Entry(ada, for: try url("http://127.0.0.1/"))
        return ProtectionSpaces(entries ?? [all])
    }

    private static func signature(
        _ spaces: inout ProtectionSpaces, _ challenge: DigestChallenge, refused: String? = nil, agrees: Bool = true,
        cnonce: String = "c"
    ) throws -> Signature {
        let signature = spaces.signature(
            challenge, from: try url(), ada, source: .origin, refused: refused, clientNonce: cnonce, agrees: agrees)
        return try #require(signature)
    }

    private static func use(_ signature: Signature?) -> String {
        guard case .digest(let challenge, let count, let clientNonce)? = signature?.proof else { return "none" }
        return "\(challenge.nonce):\(count):\(clientNonce)"
    }

    @Test func `nothing is sent before a challenge, and from then on with the next count [M11]`() throws {
        var spaces = try Self.spaces()
        #expect(try spaces.early(Self.url(), own: nil) == nil)
        let first = try Self.signature(&spaces, Self.digest("n"))
        #expect(Self.use(first) == "n:1:c")
        // it has not proved right yet
        #expect(try spaces.early(Self.url(), own: nil) == nil)
        spaces.proved(first, at: try Self.url())
        #expect(Self.use(try spaces.early(Self.url("http://127.0.0.1/other"), own: nil)) == "n:2:c")
        #expect(Self.use(try spaces.early(Self.url(), own: nil)) == "n:3:c")
        for other in ["https://127.0.0.1/private/a", "http://127.0.0.1:81/private/a", "http://127.0.0.2/private/a"] {
            #expect(try spaces.early(Self.url(other), own: nil) == nil, "\(other)")
        }
    }

    @Test func `requests that are refused at once agree on one nonce, each with a count of its own [M11]`() throws {
        var spaces = try Self.spaces()
        spaces.proved(try Self.signature(&spaces, Self.digest("old")), at: try Self.url())
        let early = try (0..<3).map { _ in Self.use(spaces.early(try Self.url(), own: nil)) }
        #expect(early == ["old:2:c", "old:3:c", "old:4:c"])
        // each is told another nonce; the first one is taken
        let again = try (0..<3).map { index in
            Self.use(try Self.signature(&spaces, Self.digest("new\(index)"), refused: "old", cnonce: "d"))
        }
        #expect(again == ["new0:1:d", "new0:2:d", "new0:3:d"])
        // a server that takes each nonce once gets what it wants
        #expect(Self.use(try Self.signature(&spaces, Self.digest("own"), refused: "x", agrees: false)) == "own:1:c")
        #expect(Self.use(spaces.early(try Self.url(), own: nil)) == "new0:4:d")
    }

    @Test func `until the credential is proved, each request uses the nonce of its own challenge [M11]`() throws {
        var spaces = try Self.spaces()
        // a server may send several requests the same nonce
        let burst = try ["n", "m", "n", "m", "o"].map { try Self.signature(&spaces, Self.digest($0)) }
        #expect(burst.map(Self.use) == ["n:1:c", "m:1:c", "n:2:c", "m:2:c", "o:1:c"])
        // the password may be wrong
        #expect(!burst.contains { spaces.mayBeUsedUp($0) })
        spaces.proved(burst[1], at: try Self.url())
        #expect(Self.use(try Self.signature(&spaces, Self.digest("p"))) == "m:3:c")
        #expect(Self.use(spaces.early(try Self.url(), own: nil)) == "m:4:c")
    }

    @Test func `a refusal before any proof does not keep others from what is proved later`() throws {
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, Self.digest("n"))
        let second = try Self.signature(&spaces, Self.digest("m"))
        spaces.refused(second)
        // the password may be wrong
        #expect(try !spaces.mayBeUsedUp(first) && spaces.early(Self.url(), own: nil) == nil)
        spaces.proved(first, at: try Self.url())
        #expect(spaces.mayBeUsedUp(second))
        #expect(Self.use(try Self.signature(&spaces, Self.digest("o"))) == "n:2:c")
        #expect(Self.use(try Self.signature(&spaces, Self.digest("p"), refused: "n")) == "p:1:c")
        // now that the credential is proven, its refusal counts
        spaces.refused(second)
        spaces.proved(first, at: try Self.url())
        #expect(!spaces.mayBeUsedUp(second))
    }

    @Test func `only a nonce that is shared can be used up by others`() throws {
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, Self.digest("n"))
        spaces.proved(first, at: try Self.url())
        let second = try Self.signature(&spaces, Self.digest("m"))
        #expect(Self.use(second) == "n:2:c" && spaces.mayBeUsedUp(second))
        let third = try Self.signature(&spaces, Self.digest("o"), refused: "n")
        #expect(Self.use(third) == "o:1:c" && spaces.mayBeUsedUp(second) && !spaces.mayBeUsedUp(third))
        spaces.refused(third)
        #expect(!spaces.mayBeUsedUp(second) && !spaces.mayBeUsedUp(third))
    }

    @Test func `a refusal of Digest forgets what was accepted as Basic, and a refusal of Basic all`() throws {
        for isBasic in [true, false] {
            var spaces = try Self.spaces()
            let here = try Self.url()
            let space = ProtectionSpace(.origin, of: here, realm: "vault")
            let basic = Signature(space, Self.ada, .basic(isUTF8: false))
            let digest = try Self.signature(&spaces, Self.digest("n"))
            spaces.proved(Signature(space, Self.ada, .basic(isUTF8: false)), at: here)
            spaces.refused(isBasic ? basic : digest)
            #expect(spaces.early(here, own: nil) == nil)
            spaces.proved(digest, at: here)
            #expect((spaces.early(here, own: nil) == nil) == isBasic)
        }
    }

    @Test func `a request that is sent once more takes no other nonce`() throws {
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, Self.digest("n"))
        #expect(Self.use(spaces.again(first)) == "n:2:c")
        let alone = try Self.signature(&spaces, Self.digest("m"), refused: "n", agrees: false)
        #expect(Self.use(alone) == "m:1:c" && spaces.again(alone) == nil)
        #expect(Self.use(spaces.again(first)) == "n:3:c")
        spaces.renew(first, nonce: FieldText("o"), clientNonce: "d")
        #expect(spaces.again(first) == nil)
    }

    @Test func `the server's next nonce is taken once, and a count of its own begins [M11]`() throws {
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, Self.digest("n"))
        spaces.proved(first, at: try Self.url())
        spaces.renew(first, nonce: FieldText("m"), clientNonce: "d")
        spaces.renew(first, nonce: FieldText("too late"), clientNonce: "e")
        #expect(Self.use(try spaces.early(Self.url(), own: nil)) == "m:1:d")
    }

    @Test(arguments: [("", false), ("\u{E9}", true), ("\u{E9}", false)])
    func `the bytes of the next nonce go back, and those of the realm stay [M11]`(
        letter: String, isLatin1: Bool
    ) throws {
        let text = FieldText("Digest realm=\"vault\(letter)\", qop=auth, nonce=\"n\"", isLatin1: isLatin1)
        let found = try #require(ChallengeScanner.challenges(in: [text]).first)
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, try #require(DigestChallenge(found, from: try Self.url())))
        spaces.proved(first, at: try Self.url())
        let info = AuthenticationInfo([FieldText("nextnonce=\"m\u{FF}\"", isLatin1: true)])
        spaces.renew(first, nonce: try #require(info.nextNonce), clientNonce: "d")
        let early = spaces.early(try Self.url(), own: nil)
        guard case .digest(let challenge, _, let clientNonce)? = early?.proof else {
            Issue.record("\(String(describing: early))")
            return
        }
        let field = DigestCredentials(
            challenge, Self.ada, method: "GET", uri: "/", count: 1, clientNonce: clientNonce
        ).field
        let realm = FieldText("vault\(letter)", isLatin1: isLatin1).bytes
        let start = Array("Digest username=\"ada\", realm=\"".utf8) + realm
        #expect(field.bytes.starts(with: start + Array("\", uri=\"/\", nonce=\"m".utf8) + [0xFF]))
    }

    @Test func `what was refused is not said again unasked`() throws {
        var spaces = try Self.spaces()
        let first = try Self.signature(&spaces, Self.digest("n"))
        spaces.proved(first, at: try Self.url())
        spaces.refused(first)
        #expect(try spaces.early(Self.url(), own: nil) == nil)
    }

    @Test func `Basic that was accepted on one route is not sent unasked on another in the open [M3]`() throws {
        let here = try Self.url()
        for schemes in [nil, [.basic]] as [[UserCredential.Scheme]?] {
            let ada = UserCredential("ada", "s3cret", schemes: schemes)
            var spaces = ProtectionSpaces([ProtectionSpaces.Entry(ada, for: here)])
            spaces.proved(
                Signature(ProtectionSpace(.origin, of: here, realm: "vault"), ada, .basic(isUTF8: false)), at: here)
            let early = spaces.early(here, own: nil, isConfidential: false)
            #expect((early != nil) == (schemes != nil))
            #expect(spaces.early(here, own: nil)?.scheme == .basic)
        }
    }

    @Test func `Basic holds for what lies beside and below, Digest for its domain [M3]`() throws {
        var spaces = try Self.spaces()
        let here = try Self.url()
        let basic = Signature(ProtectionSpace(.origin, of: here, realm: "vault"), Self.ada, .basic(isUTF8: false))
        spaces.proved(basic, at: here)
        for (path, isSaid) in [("/private/b", true), ("/private/a/b?c", true), ("/", false), ("/privateer", false)] {
            #expect((try spaces.early(Self.url("http://127.0.0.1" + path), own: nil) != nil) == isSaid, "\(path)")
        }
        var others = try Self.spaces()
        let limited = try Self.signature(&others, Self.digest("n", more: ", domain=\"/private /x/\""))
        others.proved(limited, at: here)
        for (path, isSaid) in [
            ("/private", true), ("/private/b", true), ("/x/y", true), ("/x", false), ("/privates", false),
        ] {
            #expect((try others.early(Self.url("http://127.0.0.1" + path), own: nil) != nil) == isSaid, "\(path)")
        }
    }

    @Test func `a credential is for its origin, its paths and its realm [M3]`() throws {
        let deep = UserCredential("deep", "p")
        let named = UserCredential("named", "p")
        let spaces = try Self.spaces([
            ProtectionSpaces.Entry(Self.ada, for: Self.url("http://127.0.0.1/")),
            ProtectionSpaces.Entry(deep, for: Self.url("http://127.0.0.1/private")),
            ProtectionSpaces.Entry(named, for: Self.url("http://127.0.0.1/"), realm: "vault"),
        ])
        func found(_ url: String, _ realm: String?) throws -> [String] {
            spaces.candidates(try Self.url(url), realm: realm, source: .origin).map(\.username)
        }
        #expect(try found("http://127.0.0.1/private/a", "vault") == ["named", "deep", "ada"])
        #expect(try found("http://127.0.0.1/private/a", "other") == ["deep", "ada"])
        #expect(try found("http://127.0.0.1/privates", "other") == ["ada"])
        #expect(try found("http://127.0.0.1:8080/private/a", "vault") == [])
        #expect(spaces.candidates(try Self.url(), realm: nil, source: .proxy) == [])
    }

    @Test func `Basic goes along unasked where that was wished [M5] [M6]`() throws {
        var spaces = try Self.spaces([
            ProtectionSpaces.Entry(Self.ada, for: Self.url("http://127.0.0.1/private"), isEarly: true)
        ])
        #expect(try spaces.early(Self.url(), own: nil)?.scheme == .basic)
        #expect(try spaces.early(Self.url("http://127.0.0.1/"), own: nil) == nil)
        // a request with a credential of its own uses that, and nothing else
        #expect(try spaces.early(Self.url(), own: UserCredential("own", "p")) == nil)
    }

    @Test func `no more is remembered and kept than the limits say`() throws {
        var spaces = try Self.spaces()
        for index in 0..<1000 {
            let url = try Self.url("http://127.0.0.1/")
            let challenge = try #require(
                DigestChallenge(Challenge("Digest", [.init("nonce", "n"), .init("realm", "r\(index)")]), from: url))
            let signed = spaces.signature(
                challenge, from: url, Self.ada, source: .origin, refused: nil, clientNonce: "c", agrees: true)
            let signature = try #require(signed)
            spaces.proved(signature, at: url)
            spaces.keep(signature, at: url)
            // another password for the same realm takes the place of the first
            spaces.keep(signature, at: url)
        }
        #expect(spaces.entries.count == 1 + ProtectionSpaces.mostKept)
        #expect(spaces.entries.first?.realm == nil && spaces.entries.last?.realm == "r999")
        // the space that was used last is the one that is said
        #expect(try spaces.early(Self.url(), own: nil)?.space.realm == "r999")
    }
}
