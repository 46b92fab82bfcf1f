// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides which attempts of a session with limits may begin.
///
///     ask ──▶ go ──────────────────────▶ leave
///      └────▶ wait ──▶ go (by leave, tick or change) or cancel
///              ▲
///  comeBack ───┘
///
/// Attempts that had begun and then made room come back before new attempts begin. Within a priority, attempts begin in
/// order of arrival; higher priorities begin more often, but lower priorities are never starved (weights 16, 4 and 1).
/// Times are seconds of a monotonic clock.
///
/// Responsible for: the limits, order and fairness.
/// Not responsible for: timers, waiting.
package struct AdmissionMachine: ~Copyable {
    package typealias ID = Int

    package enum Verdict: Sendable, Equatable { case go, wait, refuse }

    private struct Line {
        var waiting: [ID] = []
        var front = 0
        /// The consumed share; the line with the least consumption goes next.
        var had = 0.0

        var count: Int { waiting.count - front }
        var isEmpty: Bool { front >= waiting.count }

        mutating func next() -> ID? {
            guard front < waiting.count else { return nil }
            defer {
                front += 1
                if front > 64, front * 2 > waiting.count {
                    waiting.removeFirst(front)
                    front = 0
                }
            }
            return waiting[front]
        }
    }

    package private(set) var limits: AdmissionLimits
    package private(set) var running = 0
    private var lines: [RequestPriority: Line] = [:]
    /// Attempts that wait to come back, in order.
    private var returning: [ID] = []
    /// Attempts in the background, which begin only while no other attempt waits.
    private var background: [ID] = []
    private var window: RateWindow?

    package init(_ limits: AdmissionLimits, now: Double) {
        self.limits = limits
        window = limits.rate.map { RateWindow($0, now: now) }
    }

    /// Limit of the attempts in the background that wait.
    private static let mostBackground = 16

    /// Without attempts in the background.
    package var waiting: Int { inLine + returning.count }

    private var inLine: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// Requests admission for an attempt.
    package mutating func ask(_ id: ID, _ priority: RequestPriority, now: Double) -> Verdict {
        window?.pass(to: now)
        if waiting == 0, take() { return .go }
        guard inLine < limits.waiting else { return .refuse }
        // turns from before count against no line once all lines were empty
        if inLine == 0 { for priority in Array(lines.keys) { lines[priority]?.had = 0 } }
        // a line that was empty has no claim to the turns that passed meanwhile
        if lines[priority]?.isEmpty != false {
            let least = lines.values.filter { !$0.isEmpty }.map(\.had).min() ?? 0
            lines[priority, default: Line()].had = max(lines[priority]?.had ?? 0, least)
        }
        lines[priority, default: Line()].waiting.append(id)
        return .wait
    }

    /// Requests admission for an attempt in the background. It counts as any other attempt once it has begun, and takes
    /// the place of none that waits.
    package mutating func askInBackground(_ id: ID, now: Double) -> Verdict {
        window?.pass(to: now)
        if waiting == 0, background.isEmpty, take() { return .go }
        guard background.count < Self.mostBackground else { return .refuse }
        background.append(id)
        return .wait
    }

    /// Readmits an attempt that had made room: true if there is room now, otherwise the attempt waits. Never refused,
    /// and not counted by the rate.
    package mutating func comeBack(_ id: ID) -> Bool {
        if hasRoom {
            running &+= 1
            return true
        }
        returning.append(id)
        return false
    }

    /// Ends an attempt. Returns the attempts that may begin now.
    package mutating func leave(now: Double) -> [ID] {
        running = max(0, running - 1)
        return tick(now: now)
    }

    /// Removes a waiting attempt. False if the attempt was not waiting.
    package mutating func cancel(_ id: ID) -> Bool {
        if let index = returning.firstIndex(of: id) {
            returning.remove(at: index)
            return true
        }
        for (priority, line) in lines {
            guard let index = line.waiting[line.front...].firstIndex(of: id) else { continue }
            lines[priority]?.waiting.remove(at: index)
            return true
        }
        return false
    }

    /// Notes that time has passed. Returns the attempts that may begin now.
    package mutating func tick(now: Double) -> [ID] {
        window?.pass(to: now)
        var going: [ID] = []
        while hasRoom, !returning.isEmpty {
            running &+= 1
            going.append(returning.removeFirst())
        }
        while inLine > 0, take() {
            guard let id = next() else { break }
            going.append(id)
        }
        while waiting == 0, !background.isEmpty, take() { going.append(background.removeFirst()) }
        return going
    }

    /// Replaces the limits. Returns the attempts that may begin now.
    package mutating func change(_ limits: AdmissionLimits, now: Double) -> [ID] {
        window?.pass(to: now)
        if let rate = limits.rate, window != nil {
            window?.rate = rate
        } else {
            window = limits.rate.map { RateWindow($0, now: now) }
        }
        self.limits = limits
        return tick(now: now)
    }

    /// Seconds until the rate admits a request; nil if no request waits for the rate.
    package func nextTick(now: Double) -> Double? {
        guard inLine > 0 || !background.isEmpty, hasRoom, let delay = window?.delay(at: now) else { return nil }
        return max(0.001, delay)
    }

    private var hasRoom: Bool { limits.concurrent.map { running < $0 } ?? true }

    private mutating func take() -> Bool {
        guard hasRoom, window?.take() != false else { return false }
        running &+= 1
        return true
    }

    private mutating func next() -> ID? {
        var chosen: RequestPriority?
        for priority in RequestPriority.allCases {
            guard let line = lines[priority], !line.isEmpty else { continue }
            if let least = chosen.flatMap({ lines[$0]?.had }), least < line.had { continue }
            chosen = priority
        }
        guard let chosen else { return nil }
        lines[chosen]?.had += 1 / Double(chosen.weight)
        return lines[chosen]?.next()
    }
}
