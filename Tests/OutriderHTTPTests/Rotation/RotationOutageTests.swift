// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// A response is lost while the server is out of order: the outage costs no login, however long it lasts.
@Suite struct RotationOutageTests {
    private static let began = ClockPair(wall: 1000, boot: 500)

    private static func later(_ seconds: Double) -> ClockPair {
        ClockPair(wall: began.wall + seconds, boot: began.boot + seconds)
    }

    private static var record: CredentialRecord {
        let url = HTTPURL(scheme: .https, host: "as.test", port: 443, target: "/token")
        let spec = CredentialSpec(
            name: "work", clientID: "cli", endpoints: OAuthEndpoints(token: url), grant: .refresh)
        return CredentialRecord(
            spec, CredentialSecrets(refreshToken: Secret("rt1")), access: nil, generation: 1, boot: "b")
    }

    private static func response(_ intent: RotationIntent, _ status: Int, _ body: String = "") -> TokenEndpointResponse
    {
        TokenEndpointResponse(
            attempt: intent.attempt, status: status, sentAt: intent.began, body: Array(body.utf8), isComplete: true)
    }

    /// What a process asks for, and the machine that asks; nil if it asks nothing.
    private static func started(
        _ files: RotationFiles, at now: ClockPair, _ machine: inout RotationMachine
    ) -> (intent: RotationIntent?, stamped: RotationIntent?, end: RotationMachine.End?) {
        var files = files
        var action = machine.done()
        var stamped: RotationIntent?
        for _ in 0..<20 {
            switch action {
            case .look: action = machine.found(files, at: now)
            case .send(_, _, let intent): return (intent, stamped, nil)
            case .end(let end): return (nil, stamped, end)
            case .stamp(let intent):
                stamped = intent
                files.intent = .whole(intent)
                action = machine.done()
            case .clear:
                files.intent = .absent
                files.response = nil
                action = machine.done()
            case .write(let record):
                files.record = .whole(record)
                action = machine.done()
            default: action = machine.done()
            }
        }
        return (nil, stamped, nil)
    }

    private static func process(_ attempt: UInt64) -> RotationMachine {
        RotationMachine(.obtain(.refresh, newerThan: 1), boot: "b", attempt: attempt)
    }

    /// The intent on disk after a lost response, and a repetition with the response `status`.
    private static func stamped(by status: Int) throws -> RotationIntent {
        var files = RotationFiles()
        files.record = .whole(record)
        var machine = process(10)
        _ = started(files, at: began, &machine)
        guard case .send(_, _, let again?) = machine.lost(nil, after: 1, at: later(1)) else {
            throw RotationWorld.Killed()
        }
        #expect(again.replays == 1)
        guard case .stamp(let intent) = machine.responded(response(again, status), at: later(2)) else {
            throw RotationWorld.Killed()
        }
        return intent
    }

    @Test(arguments: [503, 429, 500]) func `the repetition is owed after an outage of a day`(status: Int) throws {
        var files = RotationFiles()
        files.record = .whole(Self.record)
        var intent = try Self.stamped(by: status)
        for step in 1...3 {
            files.intent = .whole(intent)
            var machine = Self.process(UInt64(step) * 100)
            let now = Self.later(Double(step) * 86_400)
            let again = try #require(Self.started(files, at: now, &machine).intent)
            #expect(again.replays == 1)
            guard step < 3 else {
                let body = #"{"access_token":"at2","refresh_token":"rt2","expires_in":60}"#
                guard case .write(let renewed) = machine.responded(Self.response(again, 200, body), at: now) else {
                    Issue.record("no tokens")
                    return
                }
                #expect(renewed.generation == 2)
                return
            }
            guard case .stamp(let next) = machine.responded(Self.response(again, status), at: now) else {
                Issue.record("the intent is not kept")
                return
            }
            intent = next
        }
    }

    @Test func `an owed repetition waits for the end of the pause`() throws {
        var files = RotationFiles()
        files.record = .whole(Self.record)
        files.intent = .whole(try Self.stamped(by: 503))
        let first = RotationPause.after(nil, retryAfter: nil, jitter: 1, at: Self.later(2), boot: "b")
        files.pause = RotationPause.after(first, retryAfter: 30, jitter: 1, at: Self.later(2), boot: "b")
        var early = Self.process(100)
        guard case .failed(let failure)? = Self.started(files, at: Self.later(20), &early).end else {
            Issue.record("the token was sent during the pause")
            return
        }
        #expect(failure.kind == .temporary && failure.reason == "paused")
        var late = Self.process(200)
        #expect(Self.started(files, at: Self.later(33), &late).intent?.replays == 1)
    }

    @Test func `a process that ends after the response of an outage leaves the repetition owed`() throws {
        var files = RotationFiles()
        files.record = .whole(Self.record)
        var intent = try Self.stamped(by: 503)
        (intent.attempt, intent.replays, intent.isOwed) = (11, 1, false)
        files.intent = .whole(intent)
        files.response = Self.response(intent, 503)
        var machine = Self.process(100)
        let found = Self.started(files, at: Self.later(3600), &machine)
        #expect(found.stamped?.isOwed == true)
        #expect(found.intent?.replays == 1)
    }

    @Test func `an outcome that stays unknown without an outage is not repeated when it is old`() throws {
        var files = RotationFiles()
        files.record = .whole(Self.record)
        var intent = try Self.stamped(by: 503)
        intent.isOwed = false
        files.intent = .whole(intent)
        var machine = Self.process(100)
        guard case .failed(let failure)? = Self.started(files, at: Self.later(11), &machine).end else {
            Issue.record("the token was sent again")
            return
        }
        #expect(failure.reason == "refresh_outcome_unknown")
    }

    @Test func `a refusal after an outage needs a login`() throws {
        var files = RotationFiles()
        files.record = .whole(Self.record)
        files.intent = .whole(try Self.stamped(by: 503))
        var machine = Self.process(100)
        let again = try #require(Self.started(files, at: Self.later(3600), &machine).intent)
        let refusal = Self.response(again, 400, #"{"error":"invalid_grant"}"#)
        guard case .look = machine.responded(refusal, at: Self.later(3601)) else {
            Issue.record("the record is not looked at again")
            return
        }
        guard case .write(let record) = machine.found(files, at: Self.later(3602)) else {
            Issue.record("the failure is not written")
            return
        }
        #expect(record.failure?.reason == "refresh_outcome_unknown")
    }

    @Test func `an owed repetition is kept on disk`() throws {
        let intent = try Self.stamped(by: 503)
        #expect(intent.isOwed)
        let bytes = PackedWriter.bytes(of: intent)
        #expect(try RotationIntent(packed: PackedScanner(bytes)) == intent)
    }
}
