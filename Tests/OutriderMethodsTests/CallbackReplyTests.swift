// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Testing

@testable import OutriderMethods

struct CallbackReplyTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

    private func attempt() throws -> Attempt {
        Attempt(
            method: "GET", url: try HTTPURL(parsing: "http://a/b?c=1"), fields: [.init("X-A", "1"), .init("B", "2")])
    }

    @Test func `an empty reply changes nothing`() throws {
        var attempt = try attempt()
        try AttemptChange(json: parse("{}")).apply(to: &attempt)
        let before = try self.attempt().fields
        #expect(attempt.url.description == "http://a/b?c=1" && attempt.fields == before)
    }

    @Test func `an adapter changes what it names`() throws {
        var attempt = try attempt()
        let reply = try AttemptChange(
            json: parse(
                #"{"method":"PUT","headers":{"x-a":"9"},"removeHeaders":["b"],"query":{"d":2},"body":{"json":{}},"timeout":7}"#
            ))
        try reply.apply(to: &attempt)
        #expect(attempt.method == "PUT" && attempt.url.target == "/b?c=1&d=2" && attempt.timeouts.total == 7)
        #expect(attempt.fields.all("X-A") == ["9"] && !attempt.fields.contains("B"))
        #expect(attempt.fields.first("Content-Type") == "application/json" && attempt.body != .none)
    }

    @Test(arguments: [
        #"{"headers":{"X":"a\r\nb"}}"#, #"{"method":"G T"}"#, #"{"url":"ftp://x/"}"#, #"{"url":""}"#,
    ]) func `what may not be sent is refused`(text: String) throws {
        var attempt = try attempt()
        let reply = try AttemptChange(json: parse(text))
        #expect(throws: HTTPFailure.self) { try reply.apply(to: &attempt) }
    }

    @Test(arguments: [
        (#"{"retry":true}"#, RetryVerdict.retry(after: 0)), (#"{"retry":true,"delay":2.5}"#, .retry(after: 2.5)),
        (#"{"retry":false}"#, .doNotRetry),
        (#"{"retry":false,"error":"no"}"#, .fail(HTTPFailure(.sessionTaskFailed, "no"))),
    ]) func `the four replies of a retrier`(text: String, verdict: RetryVerdict) throws {
        let reply = try RetryDecision(json: parse(text)).verdict
        #expect(reply == verdict)
    }

    @Test func `what stays in memory with an attempt has limits, which are named early`() throws {
        let (most, less) = (String(repeating: "a", count: 1 << 20), String(repeating: "a", count: (1 << 20) - 5))
        for (text, pointer) in [
            ("{\"headers\":{\"X\":\"\(most)\"}}", "/headers"), ("{\"removeHeaders\":[\"\(most)\"]}", "/removeHeaders"),
            (
                "{\"headers\":[{\"name\":\"X\",\"value\":\"\(less)\"},{\"name\":\"Y\",\"value\":\"\"}]}",
                "/headers"
            ),
        ] {
            let json = try parse(text)
            #expect {
                _ = try AttemptChange(json: json)
            } throws: { error in
                let complaint = error as? JSONComplaint
                return complaint?.pointer.description == pointer && complaint?.message.contains("1048576 bytes") == true
            }
        }
        var attempt = try attempt()
        let fitting = "{\"headers\":{\"X\":\"\(less)\"},\"query\":{\"a\":\"\(less)\"}}"
        try AttemptChange(json: parse(fitting)).apply(to: &attempt)
        #expect(attempt.fields.first("X")?.utf8.count == less.utf8.count)
        let long = try AttemptChange(json: parse("{\"query\":{\"a\":\"\(most)\"}}"))
        #expect {
            try long.apply(to: &attempt)
        } throws: { error in
            (error as? HTTPFailure)?.pointer == "/query"
        }
    }

    @Test func `reasons have a limit, which is named`() throws {
        let (most, more) = (String(repeating: "a", count: 16 << 10), String(repeating: "a", count: (16 << 10) + 1))
        #expect(try ValidateDecision(json: parse("{\"valid\":false,\"reason\":\"\(most)\"}")).reason == most)
        _ = try RetryDecision(json: parse("{\"retry\":false,\"error\":\"\(most)\"}"))
        _ = try RefreshDecision(json: parse("{\"error\":\"\(most)\"}"))
        func place(_ decode: () throws -> Void) -> String? {
            do {
                try decode()
                return nil
            } catch {
                return (error as? JSONComplaint).map {
                    $0.message.contains("16384 bytes") ? $0.pointer.description : ""
                }
            }
        }
        #expect(
            place { _ = try ValidateDecision(json: parse("{\"valid\":false,\"reason\":\"\(more)\"}")) } == "/reason")
        #expect(place { _ = try RetryDecision(json: parse("{\"retry\":false,\"error\":\"\(more)\"}")) } == "/error")
        #expect(place { _ = try RefreshDecision(json: parse("{\"error\":\"\(more)\"}")) } == "/error")
    }

    @Test(arguments: [
        ("{}", "/retry"), (#"{"retry":1}"#, "/retry"), (#"{"retry":false,"delay":1}"#, "/delay"),
        (#"{"retry":true,"error":"x"}"#, "/error"), (#"{"retry":true,"delay":-1}"#, "/delay"),
        (#"{"retry":true,"delay":1e9}"#, "/delay"), (#"{"retry":true,"again":true}"#, "/again"), ("[1]", ""),
    ]) func `other replies of a retrier are none`(text: String, pointer: String) throws {
        let value = try parse(text)
        let complaint = #expect(throws: JSONComplaint.self) { try RetryDecision(json: value) }
        #expect(complaint?.pointer.description == pointer)
    }

    @Test func `a redirect may be followed otherwise, but not be refused otherwise`() throws {
        let follows = try RedirectDecision(json: parse(#"{"follow":true,"request":{"method":"GET"}}"#)).follows
        let stays = try RedirectDecision(json: parse(#"{"follow":false}"#)).follows
        #expect(follows && !stays)
        let value = try parse(#"{"follow":false,"request":{}}"#)
        #expect(throws: JSONComplaint.self) { try RedirectDecision(json: value) }
    }

    @Test func `a challenge gets a reply with a credential or with none`() throws {
        let given = try ChallengeDecision(json: parse(#"{"credential":{"username":"u","password":"p"}}"#)).given
        #expect(given?.credential == UserCredential("u", "p") && given?.isKept == true)
        let once = #"{"credential":{"username":"u","schemes":["basic"]},"persistence":"none"}"#
        let other = try ChallengeDecision(json: parse(once)).given
        #expect(other?.credential == UserCredential("u", "", schemes: [.basic]) && other?.isKept == false)
        #expect(try ChallengeDecision(json: parse("{}")).given == nil)
        for text in [
            #"{"credential":{}}"#, #"{"credential":{"username":"a:b"}}"#, #"{"persistence":"permanent"}"#, #"{"x":1}"#,
        ] {
            let value = try parse(text)
            #expect(throws: JSONComplaint.self) { try ChallengeDecision(json: value) }
        }
    }

    @Test func `a passphrase is a text of some length, or nothing`() throws {
        #expect(try PassphraseDecision(json: parse(#"{"passphrase":"a b"}"#)).passphrase?.exposed == "a b")
        for text in ["{}", "null", #"{"passphrase":null}"#] {
            #expect(try PassphraseDecision(json: parse(text)).passphrase == nil)
        }
        let long = String(repeating: "x", count: 1025)
        for text in [#"{"passphrase":""}"#, #"{"passphrase":1}"#, #"{"passphrase":"\#(long)"}"#, #"{"x":1}"#, "1"] {
            let value = try parse(text)
            #expect(throws: JSONComplaint.self) { try PassphraseDecision(json: value) }
        }
    }

    @Test(arguments: CallbackKind.allCases) func `a missing reply is never taken for consent to what is at risk`(
        kind: CallbackKind
    ) {
        let failure = kind.failure(RPCError(.callbackTimedOut, "too late"))
        switch kind {
        case .adapt: #expect(failure?.kind == .requestAdaptationFailed)
        case .encode: #expect(failure?.kind == .customEncodingFailed)
        case .validate: #expect(failure?.kind == .customValidationFailed)
        case .serialize, .preprocess: #expect(failure?.kind == .customSerializationFailed)
        // a server that is not vouched for is refused by the asker itself (1512)
        case .retry, .disposition, .redirect, .destination, .challenge, .refresh, .trust, .passphrase,
            .cacheResponse:
            #expect(failure == nil)
        }
        if let failure { #expect(failure.underlying?.code == -32020 && failure.underlying?.domain == .callback) }
    }

    @Test func `a decision is settled once`() async throws {
        let decision = Decision()
        #expect(decision.isOpen)
        async let outcome = decision.outcome()
        #expect(decision.settle(.success(CallbackReply(value: .bool(true)))))
        #expect(!decision.settle(.success(CallbackReply(value: .bool(false)))) && !decision.isOpen)
        decision.close()
        #expect(try await outcome.get().value == .bool(true))
    }

    @Test func `a decision ends with its owner, and with the task that waits`() async {
        let owned = Decision()
        owned.close()
        guard case .failure(let gone) = await owned.outcome() else { return #expect(Bool(false)) }
        #expect(gone.code == -32022)
        let waited = Decision()
        let task = Task { await waited.outcome() }
        task.cancel()
        guard case .failure(let cancelled) = await task.value else { return #expect(Bool(false)) }
        #expect(cancelled.code == -32800)
    }
}
