// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

private func facts(_ status: Int, _ type: String? = "text/event-stream", _ fields: HTTPFields = []) -> ResponseFacts {
    var fields = fields
    if let type { fields.add("Content-Type", type) }
    return ResponseFacts(url: "http://localhost/events?key=secret", status: status, fields: fields)
}

private let lost = HTTPFailure(.connectionLost, "the connection was lost")

/// One that has been open, and moved or not.
private func opened(_ policy: ReconnectPolicy = ReconnectPolicy(), moved: Bool = true) -> EventSourceMachine {
    var machine = EventSourceMachine(policy)
    machine.connecting()
    #expect(machine.responded(facts(200), now: 0) == .read)
    if moved { machine.moved() }
    return machine
}

struct EventSourceMachineTests {
    @Test(arguments: [
        "text/event-stream", "Text/Event-Stream", "text/event-stream; charset=windows-1252", " text/event-stream ;",
    ])
    func `a status of 200 and the right type open it`(_ type: String) {
        var machine = EventSourceMachine(ReconnectPolicy())
        #expect(machine.responded(facts(200, type), now: 0) == .read)
        #expect(machine.state == .open)
    }

    @Test(arguments: [nil, "text/plain", "text/event-stream2", "application/json", "event-stream", ""])
    func `another type does not`(_ type: String?) {
        var machine = EventSourceMachine(ReconnectPolicy())
        guard case .refuse(let failure) = machine.responded(facts(200, type), now: 0) else {
            Issue.record("it was accepted")
            return
        }
        #expect(failure.kind == .eventStreamWrongContentType)
        #expect(failure.details.contains(.acceptable(["text/event-stream"])))
        #expect(!failure.message.contains("secret"))
        #expect(machine.ended(failure, serverDelay: nil, now: 1, chance: 0) == .fail(failure))
    }

    @Test(arguments: [true, false])
    func `a proxy that cannot reach the server for now is asked again`(isTransient: Bool) {
        let failure = HTTPFailure(.proxyRefused, "the proxy refused", phase: .proxy, retryable: isTransient)
        var machine = opened()
        _ = machine.ended(lost, serverDelay: nil, now: 1, chance: 0)
        machine.connecting()
        let end = machine.ended(failure, serverDelay: nil, now: 5, chance: 0)
        #expect((end == .fail(failure)) == !isTransient)
    }

    @Test(arguments: [201, 205, 206, 299, 301, 304, 400, 401, 404, 410, 418])
    func `another status ends it for good, even after it was open`(_ status: Int) {
        var machine = opened()
        _ = machine.ended(lost, serverDelay: nil, now: 1, chance: 0)
        machine.connecting()
        guard case .refuse(let failure) = machine.responded(facts(status), now: 5) else {
            Issue.record("it was accepted")
            return
        }
        #expect(failure.kind == .unacceptableStatusCode)
        #expect(failure.details == [.status(status)])
        #expect(machine.ended(failure, serverDelay: nil, now: 5, chance: 0) == .fail(failure))
        #expect(machine.state == .ended)
        machine.connecting()
        #expect(machine.responded(facts(200), now: 6) == .read, "another party helped, with a new token perhaps")
    }

    @Test func `204 asks not to come back`() {
        var machine = opened()
        _ = machine.ended(nil, serverDelay: nil, now: 1, chance: 0)
        guard case .refuse(let failure) = machine.responded(facts(204, nil), now: 5) else {
            Issue.record("it was accepted")
            return
        }
        #expect(failure.kind == .eventStreamRetryRefused)
        #expect(machine.ended(failure, serverDelay: nil, now: 5, chance: 0) == .fail(failure))
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504])
    func `a status that may pass is waited out once it has been open`(_ status: Int) {
        var first = EventSourceMachine(ReconnectPolicy())
        guard case .refuse(let failure) = first.responded(facts(status), now: 0) else {
            Issue.record("it was accepted")
            return
        }
        #expect(first.ended(failure, serverDelay: nil, now: 0, chance: 0) == .fail(failure))
        var later = opened()
        #expect(later.ended(nil, serverDelay: nil, now: 1, chance: 0) == .reconnect(after: 3))
        #expect(later.ended(failure, serverDelay: nil, now: 5, chance: 0) == .reconnect(after: 3))
        #expect(later.ended(failure, serverDelay: nil, now: 9, chance: 0) == .reconnect(after: 6))
    }

    @Test func `the end of a good connection is followed by the next after the reconnection time`() {
        var machine = opened()
        #expect(machine.ended(nil, serverDelay: nil, now: 1, chance: 0) == .reconnect(after: 3))
        #expect(machine.state == .waiting)
        machine.connecting()
        #expect(machine.responded(facts(200), now: 4) == .read)
        machine.moved()
        #expect(machine.ended(lost, serverDelay: 0.4, now: 5, chance: 0) == .reconnect(after: 0.4))
        #expect(machine.failures == 0)
    }

    @Test func `attempts that bring nothing wait longer each time`() {
        var machine = opened()
        var delays: [Double] = []
        for _ in 0..<8 {
            guard case .reconnect(let delay) = machine.ended(lost, serverDelay: 2, now: 1, chance: 0) else { break }
            delays.append(delay)
            machine.connecting()
        }
        #expect(delays == [2, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func `a server that opens the stream and closes it at once brings nothing`() {
        var policy = ReconnectPolicy()
        policy.max = 3
        var machine = opened(policy)
        var ends: [EventSourceMachine.End] = [machine.ended(nil, serverDelay: nil, now: 0, chance: 0)]
        for now in [10.0, 20, 30] {
            machine.connecting()
            #expect(machine.responded(facts(200), now: now) == .read)
            ends.append(machine.ended(nil, serverDelay: nil, now: now, chance: 0))
        }
        #expect(ends.prefix(3) == [.reconnect(after: 3), .reconnect(after: 3), .reconnect(after: 6)])
        guard case .fail(let failure)? = ends.last else {
            Issue.record("it went on")
            return
        }
        #expect(failure.kind == .eventStreamReconnectLimit)
    }

    @Test func `a quiet connection that lasted is a good one`() {
        var machine = opened(moved: false)
        #expect(machine.ended(lost, serverDelay: nil, now: 3, chance: 0) == .reconnect(after: 3))
        #expect(machine.failures == 0)
        var short = opened(moved: false)
        _ = short.ended(lost, serverDelay: nil, now: 2.9, chance: 0)
        #expect(short.failures == 1)
    }

    @Test func `a connection that is closed at once brings nothing, whatever the reconnection time is`() {
        var policy = ReconnectPolicy()
        policy.max = 3
        policy.delay = 0
        var machine = opened(policy)
        #expect(machine.ended(nil, serverDelay: 0, now: 0, chance: 0) == .reconnect(after: 0.05))
        var delays: [Double] = []
        for now in [1.0, 2, 3] {
            machine.connecting()
            #expect(machine.responded(facts(200), now: now) == .read)
            let end = machine.ended(nil, serverDelay: 0, now: now + 0.1, chance: 0)
            guard case .reconnect(let delay) = end else { break }
            delays.append(delay)
        }
        #expect(delays == [0.05, 0.1])
        #expect(machine.failures == 3)
    }

    @Test func `the limit of attempts is a failure that names the last cause`() {
        var policy = ReconnectPolicy()
        policy.max = 2
        var machine = opened(policy)
        #expect(machine.ended(lost, serverDelay: nil, now: 0, chance: 0) == .reconnect(after: 3))
        #expect(machine.ended(lost, serverDelay: nil, now: 4, chance: 0) == .reconnect(after: 3))
        guard case .fail(let failure) = machine.ended(lost, serverDelay: nil, now: 8, chance: 0) else {
            Issue.record("it went on")
            return
        }
        #expect(failure.kind == .eventStreamReconnectLimit)
        #expect(failure.details == [.cause(lost)])
    }

    @Test func `the first connection must succeed unless that is not required`() {
        var machine = EventSourceMachine(ReconnectPolicy())
        #expect(machine.ended(lost, serverDelay: nil, now: 0, chance: 0) == .fail(lost))
        var policy = ReconnectPolicy()
        policy.initial = true
        var patient = EventSourceMachine(policy)
        #expect(patient.ended(lost, serverDelay: nil, now: 0, chance: 0) == .reconnect(after: 3))
    }

    @Test func `without reconnecting the end is the end`() {
        var policy = ReconnectPolicy()
        policy.isEnabled = false
        var machine = opened(policy)
        #expect(machine.ended(nil, serverDelay: 1, now: 0, chance: 0) == .finish)
        var other = opened(policy)
        #expect(other.ended(lost, serverDelay: 1, now: 0, chance: 0) == .fail(lost))
    }

    @Test func `what is wrong with the stream itself is not tried again`() {
        for kind in [HTTPFailure.Kind.limitExceeded, .trustEvaluationFailed, .invalidURL, .explicitlyCancelled] {
            let failure = HTTPFailure(kind, "no")
            var machine = opened()
            #expect(machine.ended(failure, serverDelay: nil, now: 9, chance: 0) == .fail(failure))
        }
    }

    @Test func `a closed one connects no more`() {
        var machine = opened()
        machine.close()
        machine.connecting()
        #expect(machine.ended(nil, serverDelay: nil, now: 9, chance: 0) == .finish)
        #expect(machine.state == .closed)
    }

    @Test(
        arguments: [
            // failures, asked, Retry-After, chance, seconds
            (0, nil, nil, 0.0, 3.0), (1, nil, nil, 0, 3), (2, nil, nil, 0, 6), (0, nil, nil, 1, 3.75),
            (0, 0.4, nil, 0, 0.4), (3, 0.4, nil, 1, 2), (0, 0, nil, 0, 0.05), (0, 600, nil, 0, 600),
            (5, 600, nil, 0, 600), (1000, nil, nil, 0, 60), (1, nil, 20, 0, 20), (1, nil, 1, 0, 3),
            (1, nil, 1e9, 0, 3600), (1, nil, -5, 2, 3.75), (0, 86400, nil, 1, 108000),
        ] as [(Int, Double?, Double?, Double, Double)])
    func `a delay is never less than what the server wishes`(
        _ failures: Int, _ serverDelay: Double?, _ retryAfter: Double?, _ chance: Double, _ seconds: Double
    ) {
        let delay = ReconnectPolicy().delay(
            after: failures, serverDelay: serverDelay, retryAfter: retryAfter, chance: chance)
        #expect(abs(delay - seconds) < 1e-9)
        #expect(delay >= min(serverDelay ?? 0, 86400))
    }
}
