// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOPosix
import OutriderHTTP
import OutriderJSON
import OutriderTransport
import Synchronization
import Testing

@testable import OutriderEngine

/// What is decided on the event loop, and what is not.
@Suite struct ReplayStageTests {
    private static func attempt(_ url: String = "http://a.example/a", body: [UInt8] = []) throws -> Attempt {
        Attempt(
            method: "POST", url: try HTTPURL(parsing: url),
            fields: [HTTPFields.Field("Content-Type", "application/json")],
            body: .bytes(body))
    }

    private static func stage(_ patterns: [String]) throws -> ReplayStage {
        let stage = ReplayStage()
        for text in patterns {
            var rule = StubRule(url: try URLPattern(text), replies: [StubReply()])
            rule.body = .object(JSONObject())
            _ = stage.withStubs { $0.add(rule) }
        }
        return stage
    }

    /// The course that is found in the end, and whether it took work.
    private static func course(_ stage: ReplayStage, _ attempt: Attempt) -> (ReplayStage.Course, isLong: Bool) {
        guard case .bytes(let body) = attempt.body else { return (.network, false) }
        var (course, isLong) = (stage.course(of: attempt, body), false)
        while case .work(let work, _) = course {
            isLong = true
            course = work()
        }
        return (course, isLong)
    }

    @Test(arguments: [(100, false), (64 << 10, true), (8 << 20, true)])
    func `a long body is compared with stubs away from the event loop`(count: Int, isLong: Bool) throws {
        let body = Array("{\"a\":\"\(String(repeating: "b", count: count))\"}".utf8)
        let (course, wasLong) = Self.course(try Self.stage(["/a"]), try Self.attempt(body: body))
        guard case .script = course else {
            Issue.record("no stub responded")
            return
        }
        #expect(wasLong == isLong)
    }

    @Test func `many stubs and long URLs are compared away from the event loop`() throws {
        let many = try Self.stage((0..<1000).map { "https://a.example/\($0)/*/{name}" })
        #expect(Self.course(many, try Self.attempt(body: Array("{}".utf8))).isLong)
        let url = "http://a.example/" + String(repeating: "a", count: 5000)
        #expect(Self.course(try Self.stage(["*b"]), try Self.attempt(url, body: Array("{}".utf8))).isLong)
        let few = try Self.stage((0..<50).map { "/\($0)/*" })
        #expect(!Self.course(few, try Self.attempt(body: Array("{}".utf8))).isLong)
    }

    @Test func `a miss of a cassette is explained away from the event loop`() throws {
        let stage = try Self.played(
            (0..<3).map { number in
                var entry = CassetteEntry(ReplayRequest(method: "POST", url: "http://a.example/\(number)"))
                entry.head = AttemptScript.Head(status: 200)
                return entry
            })
        let known = Self.course(stage, try Self.attempt("http://a.example/1"))
        guard case .script = known.0 else {
            Issue.record("the entry did not play")
            return
        }
        #expect(!known.isLong)
        let missed = Self.course(stage, try Self.attempt("http://a.example/other"))
        guard case .fail(let failure) = missed.0 else {
            Issue.record("the request did not fail")
            return
        }
        #expect(missed.isLong && failure.kind == .replayMiss && failure.message.contains("3. entry"))
    }

    /// A stage that plays these entries, each once.
    private static func played(_ entries: [CassetteEntry]) throws -> ReplayStage {
        let path = "/tmp/outrider-stage-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).har"
        defer { unlink(path) }
        var file = CassetteWriter.head(program: "1")
        for (number, entry) in entries.enumerated() {
            file += Array((number == 0 ? "\n" : ",\n").utf8) + CassetteWriter.line(entry, time: "")
        }
        file += CassetteWriter.tail
        let handle = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { close(handle) }
        #expect(write(handle, file, file.count) == file.count)
        return ReplayStage(try Tape.openNow(Tape.Settings(path: path)))
    }

    @Test func `an entry whose file cannot be read for want of threads is left for the next request`() throws {
        let body = "/tmp/outrider-stage-\(getpid()).body"
        defer { unlink(body) }
        close(open(body, O_WRONLY | O_CREAT | O_TRUNC, 0o600))
        var entry = CassetteEntry(ReplayRequest(method: "POST", url: "http://a.example/a"))
        entry.head = AttemptScript.Head(status: 200)
        entry.bodyFile = "outrider-stage-\(getpid()).body"
        let stage = try Self.played([entry])
        let attempt = try Self.attempt()
        for _ in 0..<2 {
            guard case .work(_, let refused) = stage.course(of: attempt, []) else {
                Issue.record("the entry is used up")
                return
            }
            refused()
        }
        guard case .script = Self.course(stage, attempt).0, case .fail = Self.course(stage, attempt).0 else {
            Issue.record("the entry did not play once")
            return
        }
    }

    @Test func `a comparison that waits for a thread ends in time, and leaves its entry`() async throws {
        let body = Array(String(repeating: "b", count: 32 << 10).utf8)
        var entry = CassetteEntry(ReplayRequest(method: "POST", url: "http://a.example/a", body: body))
        entry.head = AttemptScript.Head(status: 200)
        let stage = try Self.played([entry])
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let transport = StagedTransport(
            stage: stage, inner: ScriptedTransport([ScriptedTransport.Script()], on: group.next()))
        var attempt = Attempt(
            method: "POST", url: try HTTPURL(parsing: "http://a.example/a"), fields: [], body: .bytes(body))
        attempt.timeouts.total = 0.05
        let gate = Gate()
        // all threads for computations are taken
        for client in 0..<UInt64(max(2, sysconf(CInt(_SC_NPROCESSORS_ONLN)))) {
            BlockingThreads.computing.run(for: ClientKey(1_000_000 + client), isOwed: true) { gate.wait() }
        }
        let late = await Self.sent(attempt, transport)
        gate.open()
        #expect(throws: HTTPFailure.self) { try late.get() }
        if case .failure(let failure) = late { #expect(failure.kind == HTTPFailure.Kind.timedOut) }
        attempt.timeouts.total = 30
        do {
            // the end of the body goes to the loop: within this scope
            let next = try await Self.sent(attempt, transport).get()
            #expect(next.status == 200)
        }
        try await group.shutdownGracefully()
    }

    private static func sent(
        _ attempt: Attempt, _ transport: StagedTransport
    ) async -> Result<AttemptResponse, HTTPFailure> {
        do throws(HTTPFailure) {
            return .success(try await transport.send(attempt, observer: Deaf()))
        } catch {
            return .failure(error)
        }
    }

    private final class Deaf: AttemptObserver {
        func sending(_ control: any AttemptControl) {}
        func bodySent(_ bytes: Int64, onWire: Int64?) {}
        func informational(_: ResponseHead) {}
    }

    /// Holds threads up until it is opened.
    private final class Gate: Sendable {
        private let isOpen = Atomic(false)

        func open() { isOpen.store(true, ordering: .releasing) }
        func wait() { while !isOpen.load(ordering: .acquiring) { usleep(500) } }
    }
}
