// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Responses to Digest challenges, against the examples of the standards.
@Suite struct DigestTests {
    private static func url() throws -> HTTPURL { try HTTPURL(parsing: "http://www.example.org/dir/index.html") }

    private static func challenge(_ text: String) throws -> DigestChallenge {
        let found = try #require(ChallengeScanner.challenges(in: [text]).first)
        return try #require(DigestChallenge(found, from: try url()))
    }

    /// NIST's examples of the secure hash standard.
    @Test(
        "SHA-512/256 has the values of FIPS 180-4",
        arguments: [
            ("", "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"),
            ("abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            (
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                    + "mnopqrstnopqrstu", "3928e184fb8690f840da3988121d31be65cb9d3ef83ee6146feac861e19b563a"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "9a59a052930187a97038cae692f30708aa6491923ef5194394dc68d56c74fb21"
            ),
        ])
    func half(text: String, expected: String) {
        #expect(DigestAlgorithm.sha512Half.hash(text) == expected)
    }

    @Test(
        "what is hashed piece by piece is hashed as a whole", arguments: DigestAlgorithm.allCases)
    func pieces(algorithm: DigestAlgorithm) {
        let text = Array(String(repeating: "The quick brown fox. ", count: 50).utf8)
        let whole = algorithm.hash(String(decoding: text, as: UTF8.self))
        for size in [1, 63, 64, 65, 111, 112, 127, 128, 129, 1000] {
            var hash = DigestHash(algorithm)
            for start in stride(from: 0, to: text.count, by: size) {
                hash.update(Array(text[start..<min(start + size, text.count)]))
            }
            #expect(hash.finish() == whole)
        }
    }

    @Test(
        "the example of RFC 7616 section 3.9.1 [M7]",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ])
    func example(algorithm: String, response: String) throws {
        let challenge = try Self.challenge(
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=\(algorithm), "
                + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
                + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"")
        let credentials = DigestCredentials(
            challenge, UserCredential("Mufasa", "Circle of Life"), method: "GET", uri: "/dir/index.html", count: 1,
            clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        #expect(credentials.response == response)
        #expect(
            credentials.fieldValue
                == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", "
                + "algorithm=\(algorithm), nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
                + "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, response=\"\(response)\", "
                + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"")
    }

    /// The printed values were made with truncated SHA-512; erratum 4897 has those of SHA-512/256.
    @Test func `the example of RFC 7616 section 3.9.2, with its erratum`() throws {
        let challenge = try Self.challenge(
            "Digest realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, "
                + "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", "
                + "opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\", charset=UTF-8, userhash=true")
        let credentials = DigestCredentials(
            challenge, UserCredential("J\u{E4}s\u{F8}n Doe", "Secret, or not?"), method: "GET", uri: "/doe.json",
            count: 1,
            clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        #expect(credentials.response == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        #expect(
            credentials.fieldValue.hasPrefix(
                "Digest username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\", "))
        #expect(credentials.fieldValue.hasSuffix(", userhash=true"))
    }

    @Test func `the example of RFC 2617 section 3.5`() throws {
        let challenge = try Self.challenge(
            "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
                + "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"")
        let credentials = DigestCredentials(
            challenge, UserCredential("Mufasa", "Circle Of Life"), method: "GET", uri: "/dir/index.html", count: 1,
            clientNonce: "0a4f113b")
        #expect(credentials.response == "6629fae49393a05397450978507c4ef1")
        // what the server did not say is not said back
        #expect(!credentials.fieldValue.contains("algorithm"))
    }

    /// With the response that the erratum of RFC 2069 has.
    @Test func `a server of RFC 2069 gets what it knows, without count and client nonce`() throws {
        let challenge = try Self.challenge(
            "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"")
        let credentials = DigestCredentials(
            challenge, UserCredential("Mufasa", "CircleOfLife"), method: "GET", uri: "/dir/index.html", count: 7,
            clientNonce: "x")
        #expect(credentials.response == "1949323746fe6a43ef61f9606e7febea")
        #expect(!credentials.fieldValue.contains("nc=") && !credentials.fieldValue.contains("cnonce"))
    }

    @Test func `a realm in other bytes than UTF-8 is hashed and sent back as it came`() throws {
        let text = FieldText("Digest realm=\"caf\u{E9}\", nonce=\"n\u{E9}\", opaque=\"\u{FF}\"", isLatin1: true)
        let found = try #require(ChallengeScanner.challenges(in: [text]).first)
        let challenge = try #require(DigestChallenge(found, from: try Self.url()))
        let credentials = DigestCredentials(
            challenge, UserCredential("\u{FC}", "p"), method: "GET", uri: "/", count: 1, clientNonce: "x")
        // user and password are in UTF-8: MD5(MD5(C3BC ":caf" E9 ":p") ":n" E9 ":" MD5("GET:/"))
        #expect(credentials.response == "147af14ea4c5fb367394331689142d78")
        let field = credentials.field
        let start = Array("Digest username=\"".utf8) + [0xC3, 0xBC] + Array("\", realm=\"caf".utf8) + [0xE9, 0x22]
        #expect(field.isLatin1 && field.bytes.starts(with: start))
        #expect(field.bytes.reversed().starts(with: [0x22, 0xFF, 0x22]))
    }

    @Test func `a session binds the secret to both nonces, and auth-int the proof to the body`() throws {
        let challenge = try Self.challenge("Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\", algorithm=MD5-sess")
        #expect(challenge.isSession && challenge.protection == .authInt)
        let md5 = DigestAlgorithm.md5
        let credentials = DigestCredentials(
            challenge, UserCredential("u", "p"), method: "PUT", uri: "/x", count: 16, clientNonce: "c",
            bodyHash: md5.hash("body"))
        let secret = md5.hash("\(md5.hash("u:r:p")):n:c")
        let expected = md5.hash("\(secret):n:00000010:c:auth-int:\(md5.hash("PUT:/x:\(md5.hash("body"))"))")
        #expect(credentials.response == expected)
        let other = DigestCredentials(
            challenge, UserCredential("u", "p"), method: "PUT", uri: "/x", count: 16, clientNonce: "c",
            bodyHash: md5.hash("other"))
        #expect(other.response != expected)
    }

    @Test(
        "names come out as servers can read them",
        arguments: [
            ("", "us\"e\\r", "username=\"us\\\"e\\\\r\""),
            ("", "j\u{E4}s", "username=\"j\u{E4}s\""),
            (", charset=UTF-8", "j\u{E4}s", "username*=UTF-8''j%C3%A4s"),
            (", charset=UTF-8", "jas", "username=\"jas\""),
        ])
    func names(more: String, name: String, expected: String) throws {
        let challenge = try Self.challenge("Digest realm=\"r\", nonce=\"n\"\(more)")
        let credentials = DigestCredentials(
            challenge, UserCredential(name, "p"), method: "GET", uri: "/", count: 1, clientNonce: "c")
        #expect(credentials.fieldValue.hasPrefix("Digest \(expected), "))
    }

    @Test(
        "a challenge without a possible response is left alone",
        arguments: [
            "Basic realm=\"r\"", "Digest realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", algorithm=SHA3-512",
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth-conf\"", "Digest realm=\"r\", nonce=\"n\u{1}\"",
        ])
    func unknown(text: String) throws {
        let found = try #require(ChallengeScanner.challenges(in: [text]).first)
        #expect(DigestChallenge(found, from: try Self.url()) == nil)
    }

    @Test func `its domain holds for paths of its own origin`() throws {
        let own = try Self.challenge(
            "Digest nonce=n, domain=\"/private http://www.example.org/more/ http://other.example/all\"")
        #expect(own.paths == ["/private", "/more/"])
        let foreign = try Self.challenge("Digest nonce=n, domain=\"http://other.example/all\"")
        #expect(foreign.paths == ["/dir/"])
        #expect(try Self.challenge("Digest nonce=n").paths == [])
    }

    @Test func `a server that proves the password is believed, and one that cannot is not`() throws {
        let challenge = try Self.challenge("Digest realm=\"r\", nonce=\"n\", qop=auth")
        let credentials = DigestCredentials(
            challenge, UserCredential("u", "p"), method: "GET", uri: "/", count: 1, clientNonce: "c")
        let proof = FieldText("rspauth=\"\(credentials.serverResponse())\", qop=auth, nextnonce=\"m\"")
        let right = AuthenticationInfo([proof])
        #expect(right.fault(of: credentials, bodyHash: nil) == nil && right.nextNonce == FieldText("m"))
        let wrong = AuthenticationInfo([FieldText("rspauth=\"\(credentials.response)\"")])
        #expect(wrong.fault(of: credentials, bodyHash: nil)?.kind == .serverAuthenticationFailed)
        #expect(AuthenticationInfo([]).fault(of: credentials, bodyHash: nil) == nil)
    }
}
