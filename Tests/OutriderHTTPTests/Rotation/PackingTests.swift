// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What is sealed, and what the service and its helper say to each other, comes back as it was.
@Suite struct PackingTests {
    private static func url(_ path: String) -> HTTPURL {
        HTTPURL(scheme: .https, host: "as.test", port: 8443, target: path)
    }

    private static var record: CredentialRecord {
        var endpoints = OAuthEndpoints(token: url("/token"))
        endpoints.revocation = url("/revoke?x=1")
        var spec = CredentialSpec(name: "wörk", clientID: "cli", endpoints: endpoints, grant: .authorizationCode)
        spec.issuer = "https://as.test"
        spec.authentication = .privateKeyJWT(file: "/key", algorithm: "ES256", keyID: nil)
        spec.scope = ["a", "b"]
        spec.parameters = [OAuthParameter("audience", "https://r.test/?a=b&c"), OAuthParameter("empty", "")]
        spec.resources = ["urn:x", "https://r.test/"]
        spec.origins = [url("/")]
        spec.refreshStatuses = [401, 498]
        spec.window = RefreshWindow(interval: 12.5, maximumAttempts: 2)
        var record = CredentialRecord(
            spec, CredentialSecrets(clientSecret: Secret("s"), refreshToken: Secret("r")),
            access: AccessToken(
                Secret("a"), obtained: ClockPair(wall: 1e9, boot: 5), expires: ClockPair(wall: 1e9 + 60, boot: 65),
                scope: [], missingScope: ["write"]),
            generation: .max, boot: "b1")
        record.failure = OAuthFailure(.needsLogin, "invalid_grant", "no", retryAfter: 1.5)
        record.rotates = true
        record.grace = 30
        return record
    }

    @Test func `a record comes back as it was`() throws {
        let record = Self.record
        let bytes = PackedWriter.bytes(of: record)
        #expect(try CredentialRecord(packed: PackedScanner(bytes)) == record)
    }

    @Test(
        "requests come back as they were",
        arguments: [
            TokenRequest.refresh, .clientCredentials, .jwtBearer, .deviceCode(Secret("d"), scope: ["a"]),
            .authorizationCode(
                code: Secret("c"), verifier: Secret("v"), redirect: "http://r", nonce: nil, keys: nil, scope: []),
            .authorizationCode(
                code: Secret("c"), verifier: Secret("v"), redirect: "http://r", nonce: "n", keys: "{}",
                scope: ["openid", "b"]),
        ])
    func requests(request: TokenRequest) throws {
        #expect(try TokenRequest(packed: PackedScanner(PackedWriter.bytes(of: request))) == request)
    }

    @Test func `what a later version adds is skipped`() throws {
        var writer = PackedWriter()
        Self.record.pack(into: &writer)
        writer.put(200, "later")
        #expect(try CredentialRecord(packed: PackedScanner(writer.bytes)) == Self.record)
    }

    @Test func `no beginning and no changed byte makes it trap`() {
        let bytes = PackedWriter.bytes(of: Self.record)
        for count in bytes.indices {
            #expect(throws: PackedFault.self) { try CredentialRecord(packed: PackedScanner(bytes[..<count])) }
        }
        for index in bytes.indices {
            for change: UInt8 in [1, 0x80, 0xFF] {
                var changed = bytes
                changed[index] ^= change
                _ = try? CredentialRecord(packed: PackedScanner(changed))
            }
        }
    }

    @Test func `two names, clients or resources are two identities, endpoints and scopes are not`() {
        let spec = Self.record.spec
        var others = [spec, spec, spec, spec]
        others[0].name = "w"
        others[1].issuer = nil
        others[2].clientID = "cl"
        others[3].resources = []
        #expect(Set([spec.identity] + others.map(\.identity)).count == 5)
        var same = spec
        same.scope = []
        same.endpoints = OAuthEndpoints(token: Self.url("/other"))
        same.resources.reverse()
        #expect(same.identity == spec.identity)
    }

    @Test func `times of an earlier boot are carried over by the calendar`() throws {
        let now = ClockPair(wall: 1e9 + 20, boot: 3)
        let access = try #require(Self.record.snapshot(at: now, boot: "b2").access)
        #expect(access.validity(at: now) == 40)
        let later = ClockPair(wall: 1e9 + 20, boot: 7)
        let same = try #require(Self.record.snapshot(at: later, boot: "b1").access)
        #expect(same.validity(at: later) == 40)
        // by the clock that says less
        #expect(same.validity(at: ClockPair(wall: 1e9, boot: 64)) == 1)
        #expect(same.validity(at: ClockPair(wall: 4e9, boot: 6)).map { $0 < 0 } == true)
    }

    @Test func `after a boot with a calendar from before the token, the time that has passed is unknown`() throws {
        let back = ClockPair(wall: 1e9 - 1, boot: 3)
        let access = try #require(Self.record.snapshot(at: back, boot: "b2").access)
        #expect(access.validity(at: back) == 0)
        // of the same boot there still is the other clock
        let later = ClockPair(wall: 1e9 - 1, boot: 7)
        let same = try #require(Self.record.snapshot(at: later, boot: "b1").access)
        #expect(same.validity(at: later).map { $0 > 0 } == true)
    }

    @Test func `a clock that is behind what was written down is another one, in the same boot, too`() throws {
        let now = ClockPair(wall: 1e9 + 20, boot: 3)
        let access = try #require(Self.record.snapshot(at: now, boot: "b1").access)
        #expect(access.expires == ClockPair(wall: 1e9 + 60, boot: 43))
        #expect(access.validity(at: ClockPair(wall: 1e9, boot: 42)) == 1)
        let back = ClockPair(wall: 1e9 - 1, boot: 3)
        #expect(Self.record.snapshot(at: back, boot: "b1").access?.validity(at: back) == 0)
        let intent = RotationIntent(
            generation: 1, token: [], attempt: 1, replays: 0, began: ClockPair(wall: 1e9, boot: 5), boot: "b1")
        #expect(intent.age(at: now, boot: "b1") == 20 && intent.age(at: back, boot: "b1") == nil)
        #expect(intent.age(at: ClockPair(wall: 1e9 - 1, boot: 7), boot: "b1") == 2)
    }
}
