// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct ExchangeMachineTests {
    private static let attempt = Attempt(
        method: "GET", url: HTTPURL(scheme: .http, host: "a", port: 80, target: "/"), fields: [])
    private static let lost = HTTPFailure(.connectionLost, "lost")

    /// A word for a step, for comparing.
    private static func word(_ step: ExchangeMachine.Step) -> String {
        switch step {
        case .send(let attempt): "send \(attempt.url)"
        case .receive: "receive"
        case .finish(let failure): failure.map { "failed \($0.kind)" } ?? "done"
        }
    }

    @Test func `sends, receives, and is over`() {
        var machine = ExchangeMachine(.success(Self.attempt))
        #expect(machine.attempts == 0)
        #expect(Self.word(machine.start()) == "send http://a/")
        #expect(machine.attempts == 1)
        #expect(Self.word(machine.answered()) == "receive")
        #expect(Self.word(machine.ended()) == "done")
    }

    @Test func `a failure ends it at any point, and the first one stays`() {
        var unbuilt = ExchangeMachine(.failure(Self.lost))
        #expect(Self.word(unbuilt.start()) == "failed connectionLost")
        #expect(unbuilt.attempts == 0)

        var unanswered = ExchangeMachine(.success(Self.attempt))
        _ = unanswered.start()
        #expect(Self.word(unanswered.failed(Self.lost)) == "failed connectionLost")
        #expect(Self.word(unanswered.failed(HTTPFailure(.timedOut, "late"))) == "failed connectionLost")

        var truncated = ExchangeMachine(.success(Self.attempt))
        _ = truncated.start()
        _ = truncated.answered()
        #expect(Self.word(truncated.failed(Self.lost)) == "failed connectionLost")
        #expect(Self.word(truncated.ended()) == "failed connectionLost")
    }

    @Test func `an event out of turn changes nothing`() {
        var machine = ExchangeMachine(.success(Self.attempt))
        _ = machine.start()
        _ = machine.answered()
        #expect(Self.word(machine.start()) == "receive")
        #expect(Self.word(machine.answered()) == "receive")
        #expect(machine.attempts == 1)
        #expect(Self.word(machine.ended()) == "done")
        #expect(Self.word(machine.start()) == "done")
    }
}
