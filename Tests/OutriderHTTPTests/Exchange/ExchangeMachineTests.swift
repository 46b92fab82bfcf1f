// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct ExchangeMachineTests {
    private static let lost = HTTPFailure(.connectionLost, "lost")
    private static let late = HTTPFailure(.timedOut, "late")
    private static let cancelled = HTTPFailure(.explicitlyCancelled, "cancelled")

    @Test func `a plain request is sent, received, and over`() {
        var machine = ExchangeMachine()
        #expect(machine.attempts == 0)
        #expect(machine.start() == .send)
        #expect(machine.attempts == 1)
        #expect(machine.answered() == .receive)
        #expect(machine.received() == .finish(nil))
    }

    @Test func `each step that is asked for comes in its place`() {
        var machine = ExchangeMachine([.adapt, .judge, .review, .retry, .retryAnswers], mostAttempts: 9)
        #expect(machine.start() == .adapt)
        #expect(machine.attempts == 0)
        #expect(machine.adapted() == .send)
        #expect(machine.redirected() == .send)
        #expect(machine.answered() == .judge)
        #expect(machine.judged() == .receive)
        #expect(machine.received() == .review)
        #expect(machine.reviewed() == .ask(nil))
        #expect(machine.decided(.doNotRetry) == .finish(nil))
        #expect(machine.attempts == 1)
        #expect(machine.redirects == 1)
    }

    @Test func `a failure ends it at any point, and the first one stays`() {
        var unbuilt = ExchangeMachine(unbuilt: Self.lost)
        #expect(unbuilt.start() == .finish(Self.lost))
        #expect(unbuilt.attempts == 0)

        var unanswered = ExchangeMachine()
        _ = unanswered.start()
        #expect(unanswered.failed(Self.lost) == .finish(Self.lost))
        #expect(unanswered.failed(Self.late) == .finish(Self.lost))

        var truncated = ExchangeMachine()
        _ = truncated.start()
        _ = truncated.answered()
        #expect(truncated.failed(Self.lost) == .finish(Self.lost))
        #expect(truncated.received() == .finish(Self.lost))
    }

    @Test func `a retry begins with the adapters, at once or after its delay`() {
        var machine = ExchangeMachine([.adapt, .retry], mostAttempts: 9)
        _ = machine.start()
        #expect(machine.failed(Self.lost) == .ask(Self.lost))
        #expect(machine.decided(.retry(after: 0)) == .adapt)
        #expect(machine.attempts == 0)
        #expect(machine.retries == 1)
        _ = machine.adapted()
        _ = machine.redirected()
        #expect(machine.failed(Self.late) == .ask(Self.late))
        #expect(machine.decided(.retry(after: 2)) == .wait(2))
        #expect(machine.waited() == .adapt)
        #expect(machine.redirects == 0)
        _ = machine.adapted()
        #expect(machine.attempts == 2)
        _ = machine.answered()
        #expect(machine.received() == .finish(nil))
    }

    @Test func `an answer may be given up at its head, to be repeated`() {
        var machine = ExchangeMachine([.retry, .retryAnswers], mostAttempts: 2)
        _ = machine.start()
        _ = machine.answered()
        #expect(machine.asksAboutAnswers == true)
        #expect(machine.refused() == .ask(nil))
        #expect(machine.decided(.retry(after: 0)) == .send)
        _ = machine.answered()
        #expect(machine.asksAboutAnswers == false)
        #expect(machine.refused() == .finish(nil))
    }

    @Test func `a retrier's own failure ends it in place of the first [J4] [J6]`() {
        var machine = ExchangeMachine([.retry], mostAttempts: 9)
        _ = machine.start()
        _ = machine.failed(Self.lost)
        #expect(machine.decided(.fail(Self.late)) == .finish(Self.late))
    }

    @Test func `what could not be built is built again by a retry`() {
        var machine = ExchangeMachine([.retry], unbuilt: Self.lost, mostAttempts: 3)
        #expect(machine.start() == .ask(Self.lost))
        #expect(machine.decided(.retry(after: 0)) == .adapt)
        #expect(machine.adapted() == .send)
    }

    @Test func `nobody is asked about a cancelled request, not even during a delay [J7]`() {
        var sending = ExchangeMachine([.retry], mostAttempts: 9)
        _ = sending.start()
        #expect(sending.failed(Self.cancelled) == .finish(Self.cancelled))

        var waiting = ExchangeMachine([.retry], mostAttempts: 9)
        _ = waiting.start()
        _ = waiting.failed(Self.lost)
        _ = waiting.decided(.retry(after: 5))
        #expect(waiting.failed(Self.cancelled) == .finish(Self.cancelled))
        #expect(waiting.waited() == .finish(Self.cancelled))

        var asking = ExchangeMachine([.retry], mostAttempts: 9)
        _ = asking.start()
        _ = asking.failed(Self.lost)
        #expect(asking.failed(Self.cancelled) == .finish(Self.cancelled))
        #expect(asking.decided(.retry(after: 0)) == .finish(Self.cancelled))
    }

    @Test func `there are never more attempts than the service allows`() {
        var machine = ExchangeMachine([.retry], mostAttempts: 3)
        var step = machine.start()
        var asked = 0
        while case .send = step {
            step = machine.failed(Self.lost)
            if case .ask = step {
                asked += 1
                step = machine.decided(.retry(after: 0))
            }
        }
        #expect(step == .finish(Self.lost))
        #expect(machine.attempts == 3)
        #expect(asked == 2)
    }

    @Test func `an event out of turn changes nothing`() {
        var machine = ExchangeMachine()
        _ = machine.start()
        _ = machine.answered()
        #expect(machine.start() == .receive)
        #expect(machine.answered() == .receive)
        #expect(machine.redirected() == .receive)
        #expect(machine.adapted() == .receive)
        #expect(machine.judged() == .receive)
        #expect(machine.reviewed() == .receive)
        #expect(machine.waited() == .receive)
        #expect(machine.decided(.retry(after: 0)) == .receive)
        #expect(machine.attempts == 1)
        #expect(machine.received() == .finish(nil))
        #expect(machine.start() == .finish(nil))
        #expect(machine.failed(Self.lost) == .finish(nil))
    }

    /// The promises, over schedules of events that may come at any time, in turn or out of it.
    @Test func `whatever happens, it ends once, within its attempts, and says nothing else after the end`() {
        var random = SeededRandom(seed: 4)
        for schedule in 0..<5000 {
            let steps = ExchangeMachine.Steps(rawValue: UInt8.random(in: 0..<32, using: &random))
            let most = Int.random(in: 1...5, using: &random)
            let unbuilt = Int.random(in: 0..<10, using: &random) == 0 ? Self.lost : nil
            var machine = ExchangeMachine(steps, unbuilt: unbuilt, mostAttempts: most)
            var step = machine.start()
            var endings: [ExchangeMachine.Step] = []
            var isSound = true
            for _ in 0..<60 {
                if case .finish = step { endings.append(step) }
                step = Self.event(Int.random(in: 0..<12, using: &random), &machine)
                isSound = isSound && machine.attempts <= most && machine.retries <= most
            }
            if case .finish = step { endings.append(step) }
            let last = machine.failed(Self.cancelled)
            isSound = isSound && endings.allSatisfy { $0 == last }
            isSound = isSound && (!endings.isEmpty || last == .finish(Self.cancelled))
            #expect(isSound, "schedule \(schedule)")
        }
    }

    private static func event(_ number: Int, _ machine: inout ExchangeMachine) -> ExchangeMachine.Step {
        switch number {
        case 0: machine.start()
        case 1: machine.adapted()
        case 2: machine.answered()
        case 3: machine.redirected()
        case 4: machine.judged()
        case 5: machine.received()
        case 6: machine.reviewed()
        case 7: machine.failed(lost)
        case 8: machine.decided(.retry(after: 0))
        case 9: machine.decided(.retry(after: 1))
        case 10: machine.decided(.doNotRetry)
        default: machine.waited()
        }
    }
}
