// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Logging in on a device: what the server says, and how often it is asked.
@Suite struct DeviceMachineTests {
    private static func authorization(_ more: String) throws -> DeviceAuthorization {
        try DeviceAuthorization(
            response: Array(
                #"{"device_code":"d","user_code":"WDJB-MJHT","verification_uri":"https://as.example/go"\#(more)}"#.utf8)
        )
    }

    @Test(
        "lifetime and interval are clamped to what makes sense",
        arguments: [
            (#","expires_in":1800,"interval":5"#, 1800.0, 5.0),
            (#","expires_in":"1800","interval":"7""#, 1800, 7),
            (#","expires_in":1800"#, 1800, 5),
            (#","interval":0"#, 600, 1),
            (#","interval":-3,"expires_in":-1"#, 1, 1),
            (#","interval":1e300,"expires_in":1e300"#, 86_400, 3600), (#","interval":120"#, 600, 120),
            (#","interval":0.5,"expires_in":18446744073709551615"#, 86_400, 1),
            (#","interval":null,"expires_in":[]"#, 600, 5),
            (#","interval":"nan","expires_in":"inf""#, 600, 5),
        ])
    func clamped(more: String, lifetime: Double, interval: Double) throws {
        let authorization = try Self.authorization(more)
        #expect(authorization.lifetime == lifetime)
        #expect(authorization.interval == interval)
    }

    @Test(
        "a response that is of no use names what is wrong",
        arguments: [
            ("[]", "object"), ("<html>", "object"), ("{}", "device_code"),
            (#"{"device_code":1}"#, "device_code"), (#"{"device_code":"d"}"#, "user_code"),
            (#"{"device_code":"d","user_code":"a\u0007b"}"#, "user_code"),
            (#"{"device_code":"d","user_code":"u"}"#, "verification_uri"),
            (#"{"device_code":"d","user_code":"u","verification_url":"http://as.example/"}"#, "verification_url"),
            (#"{"device_code":"d","user_code":"u","verification_uri":"http://as.example/"}"#, "verification_uri"),
            (#"{"device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)"}"#, "verification_uri"),
            (#"{"device_code":"d","user_code":"u","verification_uri":"file:///etc"}"#, "verification_uri"),
            (#"{"device_code":"d","user_code":"u","verification_uri":"--help"}"#, "verification_uri"),
            (#"{"device_code":"d","user_code":"u","verification_uri":"https://a@b/"}"#, "verification_uri"),
            (
                #"{"device_code":"d","user_code":"u","verification_uri":"https://a/","verification_uri_complete":"x"}"#,
                "verification_uri_complete"
            ),
        ])
    func unusable(text: String, word: String) {
        let failure = #expect(throws: OAuthFailure.self) { try DeviceAuthorization(response: Array(text.utf8)) }
        #expect(failure?.message.contains(word) == true)
        #expect(failure?.kind == .config)
    }

    @Test(arguments: ["null", "\"\""])
    func `an empty member is absent`(value: String) throws {
        #expect(try Self.authorization(#","verification_uri_complete":\#(value)"#).completeVerification == nil)
        let text = #"""
            {"device_code":"d","user_code":"u","verification_uri":\#(value),"verification_url":"https://as.example/go"}
            """#
        #expect(try DeviceAuthorization(response: Array(text.utf8)).verification == "https://as.example/go")
    }

    @Test func `an error sent as a success keeps its word`() {
        let text = #"{"error":"unauthorized_client"}"#
        let failure = #expect(throws: OAuthFailure.self) { try DeviceAuthorization(response: Array(text.utf8)) }
        #expect(failure?.kind == .config && failure?.reason == "unauthorized_client")
    }

    private static func machine(interval: Int = 5, lifetime: Int = 100) throws -> DeviceMachine {
        DeviceMachine(try authorization(#","expires_in":\#(lifetime),"interval":\#(interval)"#), now: 1000)
    }

    private static func failure(_ reason: String, _ kind: OAuthFailure.Kind = .config) -> OAuthFailure {
        OAuthFailure(kind, reason, "no")
    }

    @Test func `the server is polled after an interval, and no sooner`() throws {
        var machine = try Self.machine()
        #expect(machine.begin(now: 1000) == .poll(at: 1005))
        #expect(machine.failed(Self.failure("authorization_pending"), now: 1006) == .poll(at: 1011))
        #expect(machine.failed(Self.failure("authorization_pending"), now: 1011) == .poll(at: 1016))
    }

    @Test func `each slow_down adds five seconds, for good`() throws {
        var machine = try Self.machine()
        #expect(machine.failed(Self.failure("slow_down"), now: 1005) == .poll(at: 1015))
        #expect(machine.failed(Self.failure("authorization_pending"), now: 1015) == .poll(at: 1025))
        #expect(machine.failed(Self.failure("slow_down"), now: 1025) == .poll(at: 1040))
    }

    @Test func `a server that does not respond is polled less often, and as late as it says`() throws {
        var machine = try Self.machine(lifetime: 1000)
        #expect(machine.failed(Self.failure("unavailable", .temporary), now: 1005) == .poll(at: 1015))
        #expect(machine.failed(Self.failure("lost", .unknownOutcome), now: 1015) == .poll(at: 1035))
        var busy = Self.failure("unavailable", .temporary)
        busy.retryAfter = 90
        #expect(machine.failed(busy, now: 1035) == .poll(at: 1125))
        busy.retryAfter = .infinity
        #expect(machine.failed(busy, now: 1125) == .poll(at: 1425))
        #expect(machine.failed(Self.failure("authorization_pending"), now: 1425) == .poll(at: 1485))
    }

    @Test func `a refused certificate ends a login that further polls cannot mend`() throws {
        var machine = try Self.machine()
        let refused = Self.failure("certificate_refused", .temporary)
        #expect(machine.failed(refused, now: 1005) == .end(refused))
    }

    @Test("what is final ends it", arguments: ["expired_token", "access_denied", "invalid_client", "invalid_grant"])
    func final(reason: String) throws {
        var machine = try Self.machine()
        #expect(machine.failed(Self.failure(reason), now: 1005) == .end(Self.failure(reason)))
    }

    @Test func `one that is never approved ends when its code does`() throws {
        var machine = try Self.machine(interval: 60, lifetime: 100)
        #expect(machine.begin(now: 1000) == .poll(at: 1060))
        #expect(machine.failed(Self.failure("authorization_pending"), now: 1060) == .expire(at: 1100))
        #expect(DeviceMachine.expired.kind == .needsLogin)
        var (now, polls) = (1000.0, 0)
        machine = try Self.machine(interval: 1, lifetime: 100)
        var action = machine.begin(now: now)
        while case .poll(let time) = action {
            (now, polls) = (time, polls + 1)
            action = machine.failed(Self.failure("authorization_pending"), now: now)
        }
        #expect(action == .expire(at: 1100))
        #expect(polls == 99)
    }

    @Test("a recorded login without further polls has expired near its end only", arguments: [(120.0, 5.0), (30, 20)])
    func expired(lifetime: Double, interval: Double) throws {
        let authorization = try Self.authorization(#","expires_in":\#(lifetime),"interval":\#(interval)"#)
        let machine = DeviceMachine(authorization, now: 1000)
        let margin = max(lifetime / 5, interval)
        #expect(!machine.hasExpired(withoutPollAt: 1000 + lifetime - margin - 1))
        #expect(machine.hasExpired(withoutPollAt: 1000 + lifetime - margin))
    }
}
