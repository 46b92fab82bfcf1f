// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// A login where a refresh was under way whose outcome is unknown: its tokens have nothing to do with those before.
@Suite struct RotationLoginTests {
    private static let now = ClockPair(wall: 1000, boot: 500)
    private static let login = TokenRequest.deviceCode(Secret("dc"), scope: [])

    /// With the intent of a refresh that was sent.
    private static func interrupted() throws -> RotationFiles {
        let url = HTTPURL(scheme: .https, host: "as.test", port: 443, target: "/token")
        let spec = CredentialSpec(
            name: "work", clientID: "cli", endpoints: OAuthEndpoints(token: url), grant: .device)
        var files = RotationFiles()
        files.record = .whole(
            CredentialRecord(
                spec, CredentialSecrets(refreshToken: Secret("before")), access: nil, generation: 1, boot: "b"))
        var machine = RotationMachine(.obtain(.refresh, newerThan: 1), boot: "b", attempt: 7)
        _ = machine.found(files, at: now)
        guard case .send(.refresh, _, let intent?) = machine.done() else { throw PackedFault() }
        files.intent = .whole(intent)
        return files
    }

    private static func response(_ body: String, attempt: UInt64 = 0) -> TokenEndpointResponse {
        TokenEndpointResponse(attempt: attempt, status: 200, sentAt: now, body: Array(body.utf8), isComplete: true)
    }

    /// The machine of a login, which has asked.
    private static func sending(
        _ files: RotationFiles, _ login: TokenRequest = login
    ) throws -> RotationMachine {
        var machine = RotationMachine(.obtain(login, newerThan: nil), boot: "b", attempt: 8)
        _ = machine.found(files, at: now)
        guard case .send(login, _, nil) = machine.done() else { throw PackedFault() }
        return machine
    }

    private static let tokens = #"{"access_token":"new"}"#

    @Test func `its response without a refresh token leaves none`() throws {
        var machine = try Self.sending(try Self.interrupted())
        guard case .write(let record) = machine.responded(Self.response(Self.tokens), at: Self.now) else {
            Issue.record("nothing is written")
            return
        }
        #expect(record.access?.token == Secret("new"))
        #expect(record.secrets.refreshToken == nil)
        #expect(record.generation == 2)
    }

    @Test("a lost response of it leads to no other request", arguments: [0.1, 15], [true, false])
    func lost(seconds: Double, isPoll: Bool) throws {
        try Self.isUnknown(isPoll) { machine in machine.lost(nil, after: seconds, at: Self.now) }
    }

    @Test("nor does an unreadable one", arguments: ["{", #"{"access_token":"#], [true, false])
    func unreadable(body: String, isPoll: Bool) throws {
        try Self.isUnknown(isPoll) { machine in
            var response = Self.response(body)
            response.isComplete = body.count == 1
            return machine.responded(response, at: Self.now)
        }
    }

    /// After a poll, the next poll clears it up.
    private static func isUnknown(
        _ isPoll: Bool, _ respond: (inout RotationMachine) -> RotationMachine.Action
    ) throws {
        let code = TokenRequest.authorizationCode(
            code: Secret("c"), verifier: Secret("v"), redirect: "http://127.0.0.1/", nonce: nil, keys: nil, scope: [])
        var machine = try sending(try interrupted(), isPoll ? login : code)
        guard case .end(.failed(let failure)) = respond(&machine) else {
            Issue.record("something else is requested, or written")
            return
        }
        #expect(failure.kind == .unknownOutcome && failure.message.contains("log in again") == !isPoll)
    }

    @Test func `nor do tokens that were found and mended become its own`() throws {
        var files = try Self.interrupted()
        files.response = Self.response(#"{"access_token":"old","refresh_token":"between"}"#, attempt: 7)
        var machine = RotationMachine(.obtain(Self.login, newerThan: nil), boot: "b", attempt: 8)
        guard case .write(let mended) = machine.found(files, at: Self.now) else {
            Issue.record("nothing is mended")
            return
        }
        #expect(mended.secrets.refreshToken == Secret("between"))
        files = RotationFiles()
        files.record = .whole(mended)
        #expect(machine.done() == .clear)
        #expect(machine.done() == .look)
        _ = machine.found(files, at: Self.now)
        #expect(machine.done() == .send(Self.login, mended, nil))
        guard case .write(let record) = machine.responded(Self.response(Self.tokens), at: Self.now) else {
            Issue.record("nothing is written")
            return
        }
        #expect(record.secrets.refreshToken == nil)
    }

    @Test("nobody has declined where no person logs in", arguments: [400, 403])
    func denied(status: Int) throws {
        var files = try Self.interrupted()
        files.intent = .absent
        var machine = RotationMachine(.obtain(.clientCredentials, newerThan: nil), boot: "b", attempt: 8)
        _ = machine.found(files, at: Self.now)
        _ = machine.done()
        var denial = Self.response(#"{"error":"access_denied","error_description":"no grant for this API"}"#)
        denial.status = status
        var action = machine.responded(denial, at: Self.now)
        if case .pause = action { action = machine.done() }
        guard case .end(.failed(let failure)) = action else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.kind != .needsLogin && failure.message.contains("no grant for this API"))
    }
}
