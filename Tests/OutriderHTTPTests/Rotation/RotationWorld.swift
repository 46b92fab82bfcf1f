// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Makes every choice that can be made, one sequence after the other.
struct Choices {
    private var made: [(choice: Int, of: Int)] = []
    private var next = 0

    mutating func choose(_ count: Int) -> Int {
        if next == made.count { made.append((0, count)) }
        defer { next += 1 }
        return made[next].choice
    }

    /// The next sequence; false when there are no more.
    mutating func advance() -> Bool {
        next = 0
        while let last = made.popLast() {
            guard last.choice + 1 < last.of else { continue }
            made.append((last.choice + 1, last.of))
            return true
        }
        return false
    }
}

/// A disk, a server that rotates its refresh tokens, and processes that may be killed between any two of their steps.
struct RotationWorld {
    struct Killed: Error {}

    enum Fault: CaseIterable { case none, unreachable, handshake, busy, lostBefore, lostAfter }

    // the server
    let forgives: Bool
    var current = 1
    var isAlive = true
    var presented: [Int: Int] = [:]
    /// How often an intent was written for each: a process that finds it cannot know whether it was sent.
    var announced: [Int: Int] = [:]
    /// Those of which a process has the response, or the disk.
    var responses: [Int: Int] = [:]

    // the disk
    var files = RotationFiles()
    var faultsLeft: Int

    // what must hold
    var generations: [UInt64] = []
    var broken: [String] = []
    let now = ClockPair(wall: 1000, boot: 500)

    init(forgives: Bool, faults: Int) {
        self.forgives = forgives
        faultsLeft = faults
        let spec = CredentialSpec(
            name: "work", clientID: "cli", endpoints: OAuthEndpoints(token: Self.url), grant: .refresh)
        files.record = .whole(
            CredentialRecord(
                spec, CredentialSecrets(refreshToken: Secret("rt1")), access: nil, generation: 1, boot: "b"))
    }

    private static let url = HTTPURL(scheme: .https, host: "as.test", port: 443, target: "/token")

    /// Whether something goes wrong here.
    private mutating func fails(_ choices: inout Choices, of count: Int = 2) -> Int {
        guard faultsLeft > 0 else { return 0 }
        let choice = choices.choose(count)
        if choice > 0 { faultsLeft -= 1 }
        return choice
    }

    /// A process may be killed here.
    private mutating func step(_ choices: inout Choices) throws {
        if fails(&choices) > 0 { throw Killed() }
    }

    /// One process from the lock on, which it has, to its end or its death.
    mutating func run(newerThan known: UInt64?, attempt: UInt64, _ choices: inout Choices) throws -> RotationMachine.End
    {
        var machine = RotationMachine(.obtain(.refresh, newerThan: known), boot: "b", attempt: attempt)
        var action = machine.done()
        for _ in 0..<64 {
            switch action {
            case .end(let end):
                if case .tokens(let record, _) = end, files.record.value != record, files.escrow.value != record {
                    broken.append("tokens were handed out that are nowhere on disk")
                }
                return end
            case .look: action = machine.found(files, at: now)
            case .send(_, let record, let intent):
                action = try send(record, intent, &machine, &choices)
            default:
                try step(&choices)
                if case .write(let record) = action, record.generation > (files.record.value?.generation ?? 0),
                    fails(&choices) > 0
                {
                    action = machine.failed(OAuthFailure(.store, "store_unwritable", ""))
                    continue
                }
                try perform(action, &choices)
                action = machine.done()
            }
        }
        broken.append("it does not come to an end")
        return .failed(OAuthFailure(.store, "", ""))
    }

    private mutating func perform(_ action: RotationMachine.Action, _ choices: inout Choices) throws {
        switch action {
        case .write(let record):
            if record.generation < (generations.last ?? 1) { broken.append("an older record replaced a newer one") }
            files.previous = files.record
            try step(&choices)
            files.record = .whole(record)
            generations.append(record.generation)
            try step(&choices)
            files.escrow = .absent
        case .escrow(let record): files.escrow = .whole(record)
        case .stamp(let intent): files.intent = .whole(intent)
        case .pause(let pause): files.pause = pause
        case .clear:
            files.intent = .absent
            try step(&choices)
            files.response = nil
            try step(&choices)
            files.pause = nil
        default: break
        }
    }

    /// Connects, writes the intent, sends, writes down what comes; may be killed between any two of these.
    private mutating func send(
        _ record: CredentialRecord, _ intent: RotationIntent?, _ machine: inout RotationMachine,
        _ choices: inout Choices
    ) throws -> RotationMachine.Action {
        let fault = Fault.allCases[fails(&choices, of: Fault.allCases.count)]
        try step(&choices)
        if fault == .unreachable { return machine.notSent(OAuthFailure(.temporary, "unreachable", ""), at: now) }
        guard let intent, let number = Int(record.secrets.refreshToken?.exposed.dropFirst(2) ?? "") else {
            broken.append("a refresh without an intent")
            return machine.lost(nil, after: 0, at: now)
        }
        files.intent = .whole(intent)
        announced[number, default: 0] += 1
        try step(&choices)
        if fault == .handshake {
            return machine.refused(OAuthFailure(.temporary, "certificate_refused", ""), at: now)
        }
        if fault == .lostBefore {
            presented[number, default: 0] += 1
            return machine.lost(nil, after: 1, at: now)
        }
        let (status, body) = fault == .busy ? (503, "{}") : present(number)
        if fault == .lostAfter { return machine.lost(nil, after: 1, at: now) }
        try step(&choices)
        var response = TokenEndpointResponse(
            attempt: intent.attempt, status: status, sentAt: now, body: [], isComplete: false)
        files.response = response
        try step(&choices)
        response.body = Array(body.utf8)
        files.response = response
        if status == 200 { responses[number, default: 0] += 1 }
        try step(&choices)
        response.isComplete = true
        files.response = response
        try step(&choices)
        return machine.responded(response, at: now)
    }

    private mutating func present(_ number: Int) -> (Int, String) {
        presented[number, default: 0] += 1
        if presented[number, default: 0] > 2 { broken.append("rt\(number) was sent a third time") }
        guard isAlive, number == current || forgives else {
            isAlive = false
            return (400, #"{"error":"invalid_grant"}"#)
        }
        current += 1
        return (200, #"{"access_token":"at\#(current)","refresh_token":"rt\#(current)","expires_in":60}"#)
    }

    /// A token without a known response, although it was announced as often as is allowed, or the server forgives
    /// nothing.
    var isLossExplained: Bool {
        announced.contains { number, times in
            responses[number, default: 0] == 0 && (times >= 2 || (!forgives && number < current))
        }
    }
}
