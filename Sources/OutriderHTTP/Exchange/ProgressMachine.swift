// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Counts the body in a direction, and decides when to report: the first bytes at once, then at most once per interval,
/// and the last bytes always. No report is repeated, and within an attempt no count decreases.
///
/// Times are since any fixed moment.
package struct ProgressMachine: Sendable {
    private let direction: ProgressReport.Direction
    private let interval: Duration
    /// The caller's expected length, used if no length is declared.
    private let hint: Int64?

    private var attempt = 1
    private var redirects = 0
    private var completed: Int64 = 0
    private var declared: Int64?
    private var wire: ProgressReport.Wire?
    private var told: (time: Duration, completed: Int64, total: Int64?, isLast: Bool)?
    private var body = Pace()
    private var travel = Pace()
    private var pausedAt: Duration?

    /// - Parameters:
    ///   - interval: between two reports of a direction.
    ///   - hint: the caller's expected length in bytes; used until exceeded, unless the message declares a length.
    package init(_ direction: ProgressReport.Direction, interval: Duration, hint: Int64? = nil) {
        self.direction = direction
        self.interval = interval
        self.hint = hint.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Begins an attempt at 0 bytes; without effect if the same attempt continues over another connection.
    package mutating func begin(attempt: Int, redirects: Int, total: Int64?, now: Duration) {
        if attempt == self.attempt, redirects == self.redirects, told != nil { return }
        self.attempt = attempt
        self.redirects = redirects
        completed = 0
        declared = total
        wire = nil
        told = nil
        body = Pace(now)
        travel = Pace(now)
        if pausedAt != nil { pausedAt = now }
    }

    /// Takes the length from the response's head: of the wire bytes if compressed, else of the body.
    package mutating func expect(_ total: Int64?, isCoded: Bool, now: Duration) {
        declared = isCoded ? nil : total
        wire = isCoded ? ProgressReport.Wire(completed: 0, total: total) : nil
        body = Pace(now)
        travel = Pace(now)
    }

    /// Skips bytes that were present before the start; the rate does not include these bytes.
    package mutating func continues(at bytes: Int64, now: Duration) {
        completed = max(completed, bytes)
        body = Pace(now, from: bytes)
    }

    /// Notes the total so far. Returns a report if due.
    package mutating func moved(to bytes: Int64, wire onWire: Int64? = nil, now: Duration) -> ProgressReport? {
        guard bytes >= completed else { return nil }
        // the end of a compressed body has none of its bytes
        note(onWire)
        guard bytes > completed || told == nil else { return nil }
        completed = bytes
        // a compressed body ends with bytes that add nothing to the body
        if let total = declared, bytes >= total, wire == nil { return tell(now, isLast: true) }
        if let told, now - told.time < interval { return nil }
        return tell(now, isLast: false)
    }

    /// The body is complete, with or without a declared length. Returns the last report, unless already made.
    package mutating func ended(now: Duration) -> ProgressReport? {
        guard told?.isLast != true, completed > 0 || told != nil else { return nil }
        declared = completed
        if let wire { self.wire = ProgressReport.Wire(completed: wire.completed, total: wire.completed) }
        return tell(now, isLast: true)
    }

    /// The body broke off. Returns the last counts, unless already reported.
    package mutating func broke(now: Duration) -> ProgressReport? {
        guard told?.isLast != true, completed > told?.completed ?? 0 else { return nil }
        return tell(now, isLast: false)
    }

    /// Stops the clock until `resumed`. Repeated calls have no effect.
    package mutating func paused(now: Duration) { pausedAt = pausedAt ?? now }

    package mutating func resumed(now: Duration) {
        guard let pausedAt else { return }
        self.pausedAt = nil
        body.skip(now - pausedAt)
        travel.skip(now - pausedAt)
    }

    private mutating func note(_ bytes: Int64?) {
        guard let bytes else { return }
        wire = ProgressReport.Wire(completed: max(bytes, wire?.completed ?? 0), total: wire?.total)
    }

    private mutating func tell(_ now: Duration, isLast: Bool) -> ProgressReport? {
        let total = total
        body.reach(completed, now)
        if let wire { travel.reach(wire.completed, now) }
        told = (now, completed, total, isLast)
        return ProgressReport(
            direction: direction, attempt: attempt, redirects: redirects, completed: completed, total: total,
            isEstimated: declared == nil && total != nil, wire: wire, fraction: fraction, rate: body.rate,
            remaining: isLast ? 0 : remaining, isLast: isLast)
    }

    /// The expected total; an exceeded hint is ignored.
    private var total: Int64? { declared ?? hint.flatMap { $0 >= completed ? $0 : nil } }

    private var fraction: Double? {
        // the server's declared length wins over the caller's hint
        if declared == nil, let wire, let total = wire.total { return Self.part(wire.completed, total) }
        return total.map { Self.part(completed, $0) }
    }

    private var remaining: Double? {
        if declared == nil, let wire, let total = wire.total { return travel.seconds(for: total - wire.completed) }
        return total.flatMap { body.seconds(for: $0 - completed) }
    }

    private static func part(_ some: Int64, _ all: Int64) -> Double {
        all > 0 ? min(max(Double(some) / Double(all), 0), 1) : 1
    }
}

/// The recent rate in bytes per second: a mean in which older times count less.
///
/// A stretch of `t` seconds counts `t / (t + 2)`, and all time before counts the rest: two seconds after a change of
/// speed, the mean is half way there. In the beginning, the plain mean since the start is used.
struct Pace: Sendable {
    /// The half-life of the mean, in seconds.
    private static let memory = 2.0

    private(set) var rate: Double?
    private var since: Duration
    private var last: Duration
    private var bytes: Int64 = 0

    init(_ now: Duration = .zero, from bytes: Int64 = 0) {
        since = now
        last = now
        self.bytes = bytes
    }

    mutating func skip(_ time: Duration) {
        guard time > .zero else { return }
        since += time
        last += time
    }

    mutating func reach(_ bytes: Int64, _ now: Duration) {
        let stretch = (now - last) / .seconds(1)
        guard stretch > 0 else { return }
        let speed = Double(bytes - self.bytes) / stretch
        let weight = max(stretch / (stretch + Self.memory), stretch / ((now - since) / .seconds(1)))
        rate = (rate ?? speed) * (1 - weight) + speed * weight
        self.bytes = bytes
        last = now
    }

    /// Nil if the rate is unknown or zero, or if the time exceeds 1e9 seconds.
    func seconds(for bytes: Int64) -> Double? {
        guard let rate, rate > 0 else { return nil }
        let seconds = Double(max(bytes, 0)) / rate
        return seconds < 1e9 ? seconds : nil
    }
}
