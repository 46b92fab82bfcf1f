// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix
import OutriderHTTP
import Synchronization
import Testing

@testable import OutriderEngine

/// One credential and the callers that share its tokens, by a clock that the test sets.
@Suite struct SharedCredentialTests {
    /// The client's code: it replies when the test says so.
    private final class Refresher: TokenRefresher {
        private let replies = AsyncStream<Result<AccessToken, OAuthFailure>>.makeStream()
        private let asked = Mutex<[RefreshReason]>([])

        var client: ObjectIdentifier { ObjectIdentifier(self) }
        var isGone: Bool { false }
        var reasons: [RefreshReason] { asked.withLock { $0 } }

        func reply(_ token: AccessToken) { replies.continuation.yield(.success(token)) }
        func reply(_ failure: OAuthFailure) { replies.continuation.yield(.failure(failure)) }

        func refresh(
            _ credential: CredentialSnapshot, _ reason: RefreshReason
        ) async throws(OAuthFailure) -> AccessToken {
            asked.withLock { $0.append(reason) }
            for await reply in replies.stream { return try reply.get() }
            throw OAuthFailure(.temporary, "test", "the test is over")
        }
    }

    /// A clock and alarms that run when the test says so, and the events that were told.
    private final class Stage: Sendable {
        let clock = Mutex(ClockPair(wall: 1_000_000, boot: 500))
        let alarms = Mutex<[@Sendable () -> Void]>([])
        let events = Mutex<[String]>([])

        var source: TokenSource {
            TokenSource(
                vault: nil, clock: { self.clock.withLock { $0 } },
                later: { _, work in
                    self.alarms.withLock { $0.append(work) }
                    return ScheduledWork(3600, on: MultiThreadedEventLoopGroup.singleton, {})
                }, tell: { event, _ in self.events.withLock { $0.append(event.name) } })
        }

        /// Each caller that waits has set an alarm.
        var waiting: Int { alarms.withLock { $0.count } }

        func ring() { for alarm in alarms.withLock({ $0 }) { alarm() } }

        func token(_ text: String, lasting seconds: Double? = nil) -> AccessToken {
            let now = clock.withLock { $0 }
            let end = seconds.map { ClockPair(wall: now.wall + $0, boot: now.boot + $0) }
            return AccessToken(Secret(text), obtained: now, expires: end)
        }
    }

    private let stage = Stage()
    private let refresher = Refresher()

    private func make(_ access: AccessToken?) throws -> SharedCredential {
        let token = try HTTPURL(parsing: "http://127.0.0.1/")
        let spec = CredentialSpec(
            name: "work", clientID: "test", endpoints: OAuthEndpoints(token: token), grant: .callback)
        var snapshot = CredentialSnapshot(spec, state: access == nil ? .empty : .ready, generation: 1)
        snapshot.access = access
        return SharedCredential(snapshot, stage.source, refresher: refresher)
    }

    /// Waits for what other tasks bring about.
    private func until(_ holds: () -> Bool) async {
        for _ in 0..<5_000 where !holds() { try? await Task.sleep(for: .milliseconds(2)) }
        #expect(holds())
    }

    @Test func `a token that lasts is given at once, and no code is called`() async throws {
        let credential = try make(stage.token("a0", lasting: 3600))
        let (token, generation) = try await credential.token(for: .request, within: 1)
        #expect(token.token == Secret("a0") && generation == 1)
        #expect(refresher.reasons.isEmpty && stage.events.withLock { $0.isEmpty })
    }

    @Test func `callers that find no good token share one refresh`() async throws {
        let credential = try make(nil)
        let callers = (0..<16).map { _ in Task { try await credential.token(for: .request, within: 60).token } }
        await until { stage.waiting == 16 }
        refresher.reply(stage.token("a1", lasting: 3600))
        for caller in callers { #expect(try await caller.value.token == Secret("a1")) }
        #expect(refresher.reasons == [.missing] && credential.snapshot.generation == 2)
        #expect(stage.events.withLock { $0 } == ["refreshing", "refreshed"])
    }

    @Test func `a caller that is cancelled takes nothing from the others`() async throws {
        let credential = try make(nil)
        let patient = Task { try await credential.token(for: .request, within: 60).token }
        let gone = Task { try await credential.token(for: .request, within: 60).token }
        await until { stage.waiting == 2 }
        gone.cancel()
        await #expect(throws: HTTPFailure.self) { try await gone.value }
        #expect(credential.isAwaited && credential.isRefreshing)
        refresher.reply(stage.token("a1"))
        #expect(try await patient.value.token == Secret("a1"))
    }

    @Test func `a refresh is carried to its end although its caller waits no longer`() async throws {
        let credential = try make(nil)
        let late = Task { try await credential.token(for: .request, within: 1) }
        await until { stage.waiting == 1 && !refresher.reasons.isEmpty }
        stage.ring()
        do {
            _ = try await late.value
            Issue.record("a token came")
        } catch {
            #expect((error as? HTTPFailure)?.kind == .timedOut)
        }
        #expect(credential.isRefreshing && !credential.isAwaited)
        refresher.reply(stage.token("a1"))
        await until { !credential.isRefreshing }
        #expect(try await credential.token(for: .request, within: 1).token.token == Secret("a1"))
        #expect(refresher.reasons.count == 1)
    }

    @Test func `a token that has not ended serves while a better one is awaited in vain`() async throws {
        let token = stage.token("a0", lasting: 3700)
        // it ends within the 300 s before which it should be refreshed
        stage.clock.withLock { $0 = ClockPair(wall: $0.wall + 3600, boot: $0.boot + 3600) }
        let credential = try make(token)
        let caller = Task { try await credential.token(for: .request, within: 60).token }
        await until { !refresher.reasons.isEmpty && stage.waiting == 1 }
        stage.ring()
        #expect(try await caller.value.token == Secret("a0"))
    }

    @Test func `a refused token that was replaced meanwhile is not refreshed again`() async throws {
        let old = stage.token("a0", lasting: 3600)
        let credential = try make(old)
        let first = Task { try await credential.retry(used: old, isRefused: true, within: 60) }
        await until { !refresher.reasons.isEmpty }
        refresher.reply(stage.token("a1", lasting: 3600))
        #expect(try await first.value == .retry(after: 0))
        #expect(try await credential.retry(used: old, isRefused: true, within: 60) == .retry(after: 0))
        #expect(refresher.reasons == [.refused])
        #expect(try await credential.retry(used: old, isRefused: false, within: 60) == .doNotRetry)
    }

    @Test func `a refresh that fails fails all callers, and only a final failure lasts`() async throws {
        let credential = try make(nil)
        let callers = (0..<4).map { _ in Task { try await credential.token(for: .request, within: 60) } }
        await until { stage.waiting == 4 }
        refresher.reply(OAuthFailure(.needsLogin, "invalid_grant", "log in again"))
        for caller in callers { await #expect(throws: HTTPFailure.self) { try await caller.value } }
        guard case .needsLogin(let failure) = credential.snapshot.state else {
            Issue.record("\(credential.snapshot.state)")
            return
        }
        #expect(failure.reason == "invalid_grant")
        await #expect(throws: HTTPFailure.self) { try await credential.token(for: .request, within: 60) }
        #expect(refresher.reasons.count == 1 && stage.events.withLock { $0 } == ["refreshing", "failed"])
        // tokens from outside bring it back
        var fresh = credential.snapshot
        fresh.access = stage.token("a2")
        fresh.state = .ready
        fresh.generation += 1
        credential.take(fresh)
        #expect(try await credential.token(for: .request, within: 1).token.token == Secret("a2"))
    }

    @Test func `a cleared credential gives no token until it gets new ones`() async throws {
        let credential = try make(stage.token("a0", lasting: 3600))
        credential.clear(because: .deleted)
        do throws(HTTPFailure) {
            _ = try await credential.token(for: .request, within: 1)
            Issue.record("a token came")
        } catch {
            #expect(error.kind == .missingCredential)
        }
        #expect(refresher.reasons.isEmpty && credential.snapshot.generation == 2)
    }
}
