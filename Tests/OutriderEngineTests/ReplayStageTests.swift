// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON
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
        let path = "/tmp/outrider-stage-\(getpid()).har"
        defer { unlink(path) }
        var file = CassetteWriter.head(program: "1")
        for number in 0..<3 {
            var entry = CassetteEntry(ReplayRequest(method: "POST", url: "http://a.example/\(number)"))
            entry.head = AttemptScript.Head(status: 200)
            file += Array((number == 0 ? "\n" : ",\n").utf8) + CassetteWriter.line(entry, time: "")
        }
        file += CassetteWriter.tail
        let handle = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        #expect(write(handle, file, file.count) == file.count)
        close(handle)
        let stage = ReplayStage(try Tape.openNow(Tape.Settings(path: path)))
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
}
