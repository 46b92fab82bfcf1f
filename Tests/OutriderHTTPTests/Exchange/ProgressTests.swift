// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct ProgressTests {
    private static func machine(
        total: Int64? = nil, hint: Int64? = nil, interval: Duration = .milliseconds(100)
    ) -> ProgressMachine {
        var machine = ProgressMachine(.download, interval: interval, hint: hint)
        machine.begin(attempt: 1, redirects: 0, total: total, now: .zero)
        return machine
    }

    @Test func `the first bytes are told at once, then at most one report in an interval`() {
        var machine = Self.machine()
        #expect(machine.moved(to: 1, now: .milliseconds(1))?.completed == 1)
        #expect(machine.moved(to: 2, now: .milliseconds(100)) == nil)
        #expect(machine.moved(to: 3, now: .milliseconds(101))?.completed == 3)
        var told = 0
        for millisecond in 102...1101
        where machine.moved(to: Int64(millisecond), now: .milliseconds(millisecond)) != nil {
            told += 1
        }
        #expect(told == 10)
    }

    @Test func `the whole is told at once, however soon it comes, and nothing after it [N5]`() {
        var machine = Self.machine(total: 10)
        #expect(machine.moved(to: 9, now: .zero)?.isLast == false)
        let last = machine.moved(to: 10, now: .microseconds(1))
        #expect(last?.isLast == true && last?.fraction == 1 && last?.remaining == 0 && last?.total == 10)
        #expect(machine.moved(to: 11, now: .seconds(9)) == nil || machine.ended(now: .seconds(9)) == nil)
        #expect(machine.ended(now: .seconds(10)) == nil && machine.broke(now: .seconds(10)) == nil)
    }

    @Test func `an untold length is known at the end [N2]`() {
        var machine = Self.machine()
        let first = machine.moved(to: 5, now: .zero)
        #expect(first?.total == nil && first?.fraction == nil && first?.remaining == nil)
        #expect(machine.moved(to: 8, now: .milliseconds(1)) == nil)
        let last = machine.ended(now: .milliseconds(2))
        #expect(last?.completed == 8 && last?.total == 8 && last?.fraction == 1 && last?.isEstimated == false)
    }

    @Test func `what was not told yet when it broke is told, without an end`() {
        var machine = Self.machine(total: 10)
        #expect(machine.moved(to: 3, now: .zero) != nil)
        #expect(machine.broke(now: .zero) == nil)
        #expect(machine.moved(to: 7, now: .milliseconds(1)) == nil)
        let last = machine.broke(now: .milliseconds(2))
        #expect(last?.completed == 7 && last?.isLast == false && last?.fraction == 0.7)
        #expect(machine.broke(now: .milliseconds(3)) == nil)
    }

    @Test func `an empty body is no news`() {
        var machine = Self.machine(total: 0)
        #expect(machine.ended(now: .seconds(1)) == nil && machine.broke(now: .seconds(1)) == nil)
    }

    @Test func `what is expected counts until it is passed, or until the server says better`() {
        var machine = Self.machine(hint: 100, interval: .zero)
        let half = machine.moved(to: 50, now: .seconds(1))
        #expect(half?.total == 100 && half?.isEstimated == true && half?.fraction == 0.5 && half?.remaining == 1)
        let past = machine.moved(to: 101, now: .seconds(2))
        #expect(past?.total == nil && past?.fraction == nil && past?.isEstimated == false)
        #expect(machine.ended(now: .seconds(3))?.total == 101)

        var declared = Self.machine(total: 200, hint: 100, interval: .zero)
        let report = declared.moved(to: 50, now: .seconds(1))
        #expect(report?.total == 200 && report?.isEstimated == false)
        for nonsense: Int64 in [0, -5] {
            var machine = Self.machine(hint: nonsense)
            #expect(machine.moved(to: 1, now: .zero)?.total == nil)
        }
    }

    @Test func `of a compressed body the bytes on the wire say how far it is`() {
        var machine = Self.machine(interval: .zero)
        machine.expect(100, isCoded: true, now: .zero)
        let report = machine.moved(to: 1000, wire: 25, now: .seconds(1))
        #expect(report?.completed == 1000 && report?.total == nil)
        #expect(report?.wire == .init(completed: 25, total: 100) && report?.fraction == 0.25)
        #expect(report?.rate == 1000 && report?.remaining == 3)
        #expect(machine.moved(to: 1000, wire: 30, now: .seconds(2)) == nil)
        let last = machine.ended(now: .seconds(2))
        #expect(last?.total == 1000 && last?.wire?.total == 30)
    }

    @Test func `another attempt begins at nothing, and another connection does not [N6]`() {
        var machine = Self.machine(total: 10, interval: .zero)
        #expect(machine.moved(to: 8, now: .seconds(1))?.attempt == 1)
        // the same sending over a new connection: nothing is told until it is farther than before
        machine.begin(attempt: 1, redirects: 0, total: 10, now: .seconds(2))
        #expect(machine.moved(to: 5, now: .seconds(3)) == nil)
        #expect(machine.moved(to: 9, now: .seconds(4))?.completed == 9)
        machine.begin(attempt: 1, redirects: 1, total: 10, now: .seconds(5))
        let redirected = machine.moved(to: 2, now: .seconds(6))
        #expect(redirected?.completed == 2 && redirected?.redirects == 1)
        machine.begin(attempt: 2, redirects: 0, total: nil, now: .seconds(7))
        let again = machine.moved(to: 1, now: .seconds(8))
        #expect(again?.completed == 1 && again?.attempt == 2 && again?.redirects == 0 && again?.total == nil)
    }

    @Test func `the rate is a mean in the beginning, and follows changes within seconds`() {
        var machine = Self.machine(interval: .milliseconds(100))
        var bytes: Int64 = 0
        var report: ProgressReport?
        for tenth in 1...50 {
            bytes += 100
            report = machine.moved(to: bytes, now: .milliseconds(100 * tenth)) ?? report
            if let rate = report?.rate { #expect(abs(rate - 1000) < 1e-6) }
        }
        for tenth in 51...70 {
            bytes += 300
            report = machine.moved(to: bytes, now: .milliseconds(100 * tenth)) ?? report
        }
        // two seconds later more than half way
        #expect((2000...2400).contains(report?.rate ?? 0), "\(report?.rate ?? 0)")
        for tenth in 71...170 {
            bytes += 300
            report = machine.moved(to: bytes, now: .milliseconds(100 * tenth)) ?? report
        }
        #expect((2950...3000).contains(report?.rate ?? 0))
    }

    @Test func `time in suspension is no time`() {
        var machine = Self.machine(total: 1000, interval: .zero)
        #expect(machine.moved(to: 100, now: .seconds(1))?.rate == 100)
        machine.paused(now: .seconds(1))
        machine.paused(now: .seconds(5))
        machine.resumed(now: .seconds(3601))
        machine.resumed(now: .seconds(3602))
        let report = machine.moved(to: 200, now: .seconds(3602))
        #expect(report?.rate == 100 && report?.remaining == 8)
    }

    @Test func `a clock that stands or goes back breaks nothing`() {
        var machine = Self.machine(total: 10, interval: .zero)
        #expect(machine.moved(to: 1, now: .zero)?.rate == nil)
        #expect(machine.moved(to: 2, now: .seconds(1))?.rate == 2)
        #expect(machine.moved(to: 3, now: .zero)?.rate == nil)
        #expect(machine.moved(to: .max, now: .seconds(2))?.fraction == 1)
    }

    @Test func `in any order of events numbers only rise within a sending, and the parts fit each other`() {
        for seed: UInt64 in 1...300 {
            var random = SeededRandom(seed: seed)
            let total: Int64? = random.next() % 2 == 0 ? Int64(random.next() % 5000 + 1) : nil
            var machine = Self.machine(total: total, hint: random.next() % 2 == 0 ? 3000 : nil)
            var (now, bytes, attempt) = (Duration.zero, Int64(0), 1)
            var last: ProgressReport?
            for _ in 0..<200 {
                now += .milliseconds(Int64(random.next() % 200))
                let report: ProgressReport?
                switch random.next() % 12 {
                case 0:
                    attempt += 1
                    bytes = 0
                    machine.begin(attempt: attempt, redirects: 0, total: total, now: now)
                    report = nil
                case 1: report = machine.broke(now: now)
                case 2:
                    machine.paused(now: now)
                    report = nil
                case 3:
                    machine.resumed(now: now)
                    report = nil
                default:
                    bytes = min(bytes + Int64(random.next() % 300), total ?? .max)
                    report = machine.moved(to: bytes, now: now)
                }
                guard let report else { continue }
                if let last, last.attempt == report.attempt {
                    #expect(report.completed >= last.completed && !last.isLast)
                }
                #expect(report.completed <= report.total ?? .max && report.rate ?? 0 >= 0)
                #expect((0...1).contains(report.fraction ?? 0) && report.remaining ?? 0 >= 0)
                last = report
            }
        }
    }

    @Test func `sizes and times are short`() {
        let sizes: [(Double, String)] = [
            (0, "0 B"), (999, "999 B"), (999.7, "1.0 kB"), (1500, "1.5 kB"), (99_949, "99.9 kB"), (99_950, "100 kB"),
            (999_499, "999 kB"), (999_500, "1.0 MB"), (12_345_678, "12.3 MB"), (1_073_741_824, "1.1 GB"), (-1, "?"),
            (.infinity, "?"), (.nan, "?"), (9e18, "9.0 EB"), (1e30, "? EB"),
        ]
        for (bytes, words) in sizes { #expect(ProgressWords.size(bytes) == words) }
        let times: [(Double, String)] = [
            (0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03"), (1e9, "-:--"),
            (-1, "-:--"), (.nan, "-:--"),
        ]
        for (seconds, words) in times { #expect(ProgressWords.time(seconds) == words) }
    }
}
