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
        #expect(machine.responded() == .receive)
        #expect(machine.received() == .finish(nil))
    }

    @Test func `each requested step comes in its place`() {
        var machine = ExchangeMachine([.adapt, .judge, .review, .retry, .retryReplies], mostAttempts: 9)
        #expect(machine.start() == .adapt)
        #expect(machine.attempts == 0)
        #expect(machine.adapted() == .send)
        #expect(machine.redirected() == .send)
        #expect(machine.responded() == .judge)
        #expect(machine.judged() == .receive)
        #expect(machine.received() == .review)
        #expect(machine.reviewed() == .consult(nil))
        #expect(machine.decided(.doNotRetry) == .finish(nil))
        #expect(machine.attempts == 1)
        #expect(machine.redirects == 1)
    }

    @Test func `a failure ends it at any point, and the first one stays`() {
        var unbuilt = ExchangeMachine(unbuilt: Self.lost)
        #expect(unbuilt.start() == .finish(Self.lost))
        #expect(unbuilt.attempts == 0)

        var responseless = ExchangeMachine()
        _ = responseless.start()
        #expect(responseless.failed(Self.lost) == .finish(Self.lost))
        #expect(responseless.failed(Self.late) == .ignore("failed while over"))

        var truncated = ExchangeMachine()
        _ = truncated.start()
        _ = truncated.responded()
        #expect(truncated.failed(Self.lost) == .finish(Self.lost))
        #expect(truncated.received() == .ignore("received while over"))
    }

    @Test func `a retry begins with the adapters, at once or after its delay`() {
        var machine = ExchangeMachine([.adapt, .retry], mostAttempts: 9)
        _ = machine.start()
        #expect(machine.failed(Self.lost) == .consult(Self.lost))
        #expect(machine.decided(.retry(after: 0)) == .adapt)
        #expect(machine.attempts == 0)
        #expect(machine.retries == 1)
        _ = machine.adapted()
        _ = machine.redirected()
        #expect(machine.failed(Self.late) == .consult(Self.late))
        #expect(machine.decided(.retry(after: 2)) == .wait(2))
        #expect(machine.waited() == .adapt)
        #expect(machine.redirects == 0)
        _ = machine.adapted()
        #expect(machine.attempts == 2)
        _ = machine.responded()
        #expect(machine.received() == .finish(nil))
    }

    @Test func `a response may be given up at its head, to be repeated`() {
        var machine = ExchangeMachine([.retry, .retryReplies], mostAttempts: 2)
        _ = machine.start()
        _ = machine.responded()
        #expect(machine.consultsAboutResponses == true)
        #expect(machine.refused() == .consult(nil))
        #expect(machine.decided(.retry(after: 0)) == .send)
        _ = machine.responded()
        #expect(machine.consultsAboutResponses == false)
        #expect(machine.refused() == .finish(nil))
    }

    @Test func `a retrier's own failure ends it in place of the first [J4] [J6]`() {
        var machine = ExchangeMachine([.retry], mostAttempts: 9)
        _ = machine.start()
        _ = machine.failed(Self.lost)
        #expect(machine.decided(.fail(Self.late)) == .finish(Self.late))
    }

    @Test func `a handler's failure is shown to the retriers, and without a retry ends nothing`() {
        var machine = ExchangeMachine([.review, .retry], mostAttempts: 2)
        for attempt in 1...2 {
            if attempt == 1 { _ = machine.start() }
            _ = machine.responded()
            #expect(machine.received() == .review)
            #expect(machine.succeedsUnlessRetried == false)
            // the second attempt is the last that is allowed
            let next: ExchangeMachine.Step = attempt == 1 ? .consult(Self.lost) : .finish(nil)
            #expect(machine.reviewed(Self.lost) == next)
            #expect(machine.succeedsUnlessRetried == (attempt == 1))
            if attempt == 1 { #expect(machine.decided(.retry(after: 0)) == .send) }
        }
        var declined = ExchangeMachine([.review, .retry], mostAttempts: 9)
        _ = declined.start()
        _ = declined.responded()
        _ = declined.received()
        _ = declined.reviewed(Self.lost)
        #expect(declined.decided(.doNotRetry) == .finish(nil))
        var alone = ExchangeMachine([.review])
        _ = alone.start()
        _ = alone.responded()
        _ = alone.received()
        #expect(alone.reviewed(Self.lost) == .finish(nil))
    }

    @Test func `what could not be built is built again by a retry`() {
        var machine = ExchangeMachine([.retry], unbuilt: Self.lost, mostAttempts: 3)
        #expect(machine.start() == .consult(Self.lost))
        #expect(machine.decided(.retry(after: 0)) == .adapt)
        #expect(machine.adapted() == .send)
    }

    @Test func `no retrier is consulted about a cancelled request, not even during a delay [J7]`() {
        var sending = ExchangeMachine([.retry], mostAttempts: 9)
        _ = sending.start()
        #expect(sending.failed(Self.cancelled) == .finish(Self.cancelled))

        var waiting = ExchangeMachine([.retry], mostAttempts: 9)
        _ = waiting.start()
        _ = waiting.failed(Self.lost)
        _ = waiting.decided(.retry(after: 5))
        #expect(waiting.failed(Self.cancelled) == .finish(Self.cancelled))
        #expect(waiting.waited() == .ignore("waited while over"))

        var consulting = ExchangeMachine([.retry], mostAttempts: 9)
        _ = consulting.start()
        _ = consulting.failed(Self.lost)
        #expect(consulting.failed(Self.cancelled) == .finish(Self.cancelled))
        #expect(consulting.decided(.retry(after: 0)) == .ignore("decided while over"))
    }

    @Test func `there are never more attempts than the service allows`() {
        var machine = ExchangeMachine([.retry], mostAttempts: 3)
        var step = machine.start()
        var consulted = 0
        while case .send = step {
            step = machine.failed(Self.lost)
            if case .consult = step {
                consulted += 1
                step = machine.decided(.retry(after: 0))
            }
        }
        #expect(step == .finish(Self.lost))
        #expect(machine.attempts == 3)
        #expect(consulted == 2)
    }

    @Test func `an event out of turn changes nothing, and the machine says so`() {
        var machine = ExchangeMachine()
        _ = machine.start()
        _ = machine.responded()
        #expect(machine.start() == .ignore("start while receiving"))
        #expect(machine.admitted() == .ignore("admitted while receiving"))
        #expect(machine.responded() == .ignore("responded while receiving"))
        #expect(machine.redirected() == .ignore("redirected while receiving"))
        #expect(machine.challenged() == .ignore("challenged while receiving"))
        #expect(machine.adapted() == .ignore("adapted while receiving"))
        #expect(machine.judged() == .ignore("judged while receiving"))
        #expect(machine.reviewed() == .ignore("reviewed while receiving"))
        #expect(machine.waited() == .ignore("waited while receiving"))
        #expect(machine.decided(.retry(after: 0)) == .ignore("decided while receiving"))
        #expect(machine.attempts == 1)
        #expect(machine.received() == .finish(nil))
        #expect(machine.start() == .ignore("start while over"))
        #expect(machine.failed(Self.lost) == .ignore("failed while over"))
    }

    @Test func `an attempt of a session with limits waits for admission, once, and not before its redirects`() {
        var machine = ExchangeMachine([.adapt, .admit, .retry], mostAttempts: 2)
        #expect(machine.start() == .adapt)
        #expect(machine.adapted() == .admit)
        #expect(machine.attempts == 1)
        #expect(machine.responded() == .ignore("responded while admission"))
        #expect(machine.admitted() == .send)
        #expect(machine.redirected() == .send)
        #expect(machine.failed(Self.lost) == .consult(Self.lost))
        #expect(machine.decided(.retry(after: 0)) == .adapt)
        #expect(machine.adapted() == .admit)
        #expect(machine.failed(Self.late) == .finish(Self.late))
    }

    @Test func `a response that is not whole is requested again, in the same attempt`() {
        var machine = ExchangeMachine()
        _ = machine.start()
        #expect(machine.unfinished() == .send)
        _ = machine.responded()
        #expect(machine.unfinished() == .send)
        #expect(machine.attempts == 1)
    }

    /// The promises, over schedules of events that may come at any time, in turn or out of it.
    @Test func `whatever happens, it ends once, within its attempts, and says nothing else after the end`() {
        var random = SeededRandom(seed: 4)
        for schedule in 0..<5000 {
            let rules = ExchangeMachine.Steps(rawValue: UInt8.random(in: 0..<64, using: &random))
            let most = Int.random(in: 1...5, using: &random)
            let unbuilt = Int.random(in: 0..<10, using: &random) == 0 ? Self.lost : nil
            var machine = ExchangeMachine(rules, unbuilt: unbuilt, mostAttempts: most)
            var steps: [ExchangeMachine.Step] = [machine.start()]
            var isSound = true
            for _ in 0..<60 {
                steps.append(Self.event(Int.random(in: 0..<14, using: &random), &machine))
                isSound = isSound && machine.attempts <= most && machine.retries <= most
            }
            steps.append(machine.failed(Self.cancelled))
            let ends = steps.indices.filter { if case .finish = steps[$0] { true } else { false } }
            isSound = isSound && ends.count == 1
            for step in steps[(ends.first ?? 0)...].dropFirst() {
                if case .ignore = step {} else { isSound = false }
            }
            #expect(isSound, "schedule \(schedule)")
        }
    }

    private static func event(_ number: Int, _ machine: inout ExchangeMachine) -> ExchangeMachine.Step {
        switch number {
        case 0: machine.start()
        case 1: machine.adapted()
        case 2: machine.responded()
        case 3: machine.redirected()
        case 4: machine.judged()
        case 5: machine.received()
        case 6: machine.reviewed()
        case 7: machine.failed(lost)
        case 8: machine.decided(.retry(after: 0))
        case 9: machine.decided(.retry(after: 1))
        case 10: machine.decided(.doNotRetry)
        case 11: machine.admitted()
        case 12: machine.unfinished()
        default: machine.waited()
        }
    }
}
