// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// WWW-Authenticate as servers write it (RFC 9110 section 11.6.1).
@Suite struct ChallengeScannerTests {
    /// As one line: `Scheme token` or `Scheme name=value name=value`, challenges apart by a bar.
    private static func shown(_ fields: [String]) -> String {
        ChallengeScanner.challenges(in: fields).map { challenge in
            ([challenge.scheme]
                + (challenge.token.map { [$0] } ?? challenge.parameters.map { "\($0.name)=\($0.value)" }))
                .joined(separator: " ")
        }
        .joined(separator: "|")
    }

    @Test(
        "challenges are found however they are written [M8]",
        arguments: [
            (["Basic realm=\"a\""], "Basic realm=a"),
            (["basic REALM=\"a b\", charset=\"UTF-8\""], "basic realm=a b charset=UTF-8"),
            (["Basic"], "Basic"),
            (["Negotiate, Basic realm=\"a\""], "Negotiate|Basic realm=a"),
            (["Negotiate", "NTLM", "Basic realm=a"], "Negotiate|NTLM|Basic realm=a"),
            (["Negotiate YIIB/abc==, Basic realm=\"a\""], "Negotiate YIIB/abc==|Basic realm=a"),
            (["NTLM TlRMTVNTUAAC+/=="], "NTLM TlRMTVNTUAAC+/=="),
            // commas and quotes in quoted strings
            (["Digest realm=\"a, Basic realm=b\", nonce=\"x\""], "Digest realm=a, Basic realm=b nonce=x"),
            (["Digest realm=\"say \\\"hi\\\"\", nonce=n"], "Digest realm=say \"hi\" nonce=n"),
            (["Basic realm=\"C:\\path\\\\x\""], "Basic realm=C:\\path\\x"),
            // several in one field, with and without what should stand between them
            (["Digest realm=\"a\",nonce=\"n\",Basic realm=\"a\""], "Digest realm=a nonce=n|Basic realm=a"),
            (["Digest realm=\"a\" nonce=\"n\" qop=auth opaque=\"\""], "Digest realm=a nonce=n qop=auth opaque="),
            (["Negotiate Basic realm=\"a\""], "Negotiate|Basic realm=a"),
            // missing and stray quotes
            (["Basic realm=my realm"], "Basic realm=my realm"),
            (["Basic realm=my realm, Digest nonce=n"], "Basic realm=my realm|Digest nonce=n"),
            (["Basic realm=\"never closed, Digest nonce=n"], "Basic realm=never closed, Digest nonce=n"),
            (["Basic realm=opened\", charset=UTF-8"], "Basic realm=opened charset=UTF-8"),
            // empty elements and odd white space
            ([", ,Basic realm = \"a\" ,, ,\tDigest\tnonce =\"n\",,"], "Basic realm=a|Digest nonce=n"),
            (["  Basic    realm=\"a\"  "], "Basic realm=a"),
            (["Basic realm="], "Basic realm="),
            // one challenge in two fields
            (["Digest realm=\"a\"", "nonce=\"n\""], "Digest realm=a nonce=n"),
            // nonsense between them
            (["==, \"Basic realm=x\", Basic realm=\"a\""], "Basic realm=a"),
            (["realm=\"nobody's\", Basic realm=\"a\""], "Basic realm=a"),
            (["Custom abc def=ghi, Basic realm=a"], "Custom|abc def=ghi|Basic realm=a"),
            ([""], ""), ([], ""), ([","], ""), (["\""], ""), (["="], ""),
        ] as [([String], String)])
    func challenges(fields: [String], expected: String) {
        #expect(Self.shown(fields) == expected, "\(fields)")
    }

    @Test func `of a parameter that is there twice the first counts`() {
        let challenge = ChallengeScanner.challenges(in: ["Basic realm=\"a\", Realm=\"b\""]).first
        #expect(challenge?["realm"] == "a")
    }

    @Test func `no more than the limits is taken, however much comes`() {
        let many = ChallengeScanner.challenges(in: (0..<100).map { "S\($0) a=\"b\"" })
        #expect(many.count == ChallengeScanner.mostChallenges)
        let wide = ChallengeScanner.challenges(in: ["Basic " + (0..<500).map { "p\($0)=1" }.joined(separator: ",")])
        #expect(wide.first?.parameters.count == ChallengeScanner.mostParameters)
        let long = ChallengeScanner.challenges(in: ["Basic realm=\"" + String(repeating: "a", count: 1 << 20)])
        #expect(long.first?["realm"]?.utf8.count ?? 0 <= ChallengeScanner.mostBytes)
        let nested = ChallengeScanner.challenges(in: [String(repeating: "Basic ", count: 100_000)])
        #expect(nested.count == ChallengeScanner.mostChallenges)
        let info = ChallengeScanner.parameters(in: Array(repeating: FieldText("nextnonce=\"a\", b=c"), count: 1000))
        #expect(info.parameters.count == ChallengeScanner.mostParameters)
    }

    private static let samples = [
        "Digest realm=\"a, b\", nonce=\"7ypf/xlj9XXwfDPEoM4URrv\", qop=\"auth, auth-int\", algorithm=SHA-256-sess, "
            + "opaque=\"x\", stale=TRUE, userhash=true, charset=UTF-8, domain=\"/a /b http://h/c\"",
        "Negotiate YIIB/abc==, Basic realm=\"a\", NTLM",
        "Basic realm=my realm, Digest nonce=n, Bearer error=\"invalid_token\", scope=\"a b\"",
        "nextnonce=\"abc\", qop=auth, rspauth=\"0123\", cnonce=\"x\", nc=00000001",
    ]

    @Test func `whatever a server says, nothing breaks, and each signature can be sent`() throws {
        let url = try HTTPURL(parsing: "http://127.0.0.1/a/b?c")
        var signed = 0
        for sample in Mutations(of: Self.samples, count: 30_000, seed: 7616, spice: "\",= \\;:abDigestBasic/%") {
            for challenge in ChallengeScanner.challenges(in: [sample, sample]) {
                guard let digest = DigestChallenge(challenge, from: url) else { continue }
                let credentials = DigestCredentials(
                    digest, UserCredential("u", "p"), method: "GET", uri: url.target, count: 1, clientNonce: "c")
                #expect(FieldRules.fault(inField: "Authorization", credentials.fieldValue) == nil, "\(sample)")
                signed += 1
            }
            let info = AuthenticationInfo([FieldText(sample)])
            #expect(info.nextNonce?.text.isEmpty != true)
        }
        #expect(signed > 1000)
    }

    @Test func `every beginning of a challenge can be read`() {
        for sample in Self.samples {
            let bytes = Array(sample.utf8)
            for length in 0...bytes.count {
                let whole = ChallengeScanner.challenges(in: [sample]).count
                let part = ChallengeScanner.challenges(in: [String(decoding: bytes[..<length], as: UTF8.self)])
                #expect(part.count <= whole + 1)
            }
        }
    }
}
