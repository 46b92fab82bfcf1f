// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What a response means for a file of which a part is there.
struct ResumeRuleTests {
    private static let version = ResourceVersion(total: 100, etag: "\"a\"", lastModified: "then")

    private func verdict(
        _ status: Int, _ fields: [(String, String)], held: Int64 = 40, requested: Range<Int64>? = 40..<Int64.max,
        version: ResourceVersion = version, length: Int64? = nil, whenChanged: DownloadSpec.WhenChanged? = nil,
        isVerified: Bool = false
    ) -> ResumeRule.Verdict {
        ResumeRule(
            requested: requested, version: version, held: HeldRanges(first: held), whenChanged: whenChanged,
            isVerified: isVerified
        ).verdict(status: status, HTTPFields(fields.map { HTTPFields.Field($0.0, $0.1) }), length: length)
    }

    private func kind(_ verdict: ResumeRule.Verdict) -> HTTPFailure.Kind? {
        if case .fail(let failure) = verdict { failure.kind } else { nil }
    }

    private let rest = ("Content-Range", "bytes 40-99/100")

    @Test func `the rest of the same version goes on`() {
        #expect(verdict(206, [rest, ("ETag", "\"a\"")]) == .part(40..<100, total: 100))
        #expect(verdict(206, [rest, ("Last-Modified", "then")]) == .part(40..<100, total: 100))
        #expect(verdict(206, [("Content-Range", "bytes 40-59/*"), ("ETag", "\"a\"")]) == .part(40..<60, total: nil))
    }

    @Test func `the rest of another version does not`() {
        #expect(kind(verdict(206, [rest, ("ETag", "\"b\"")])) == .resourceChanged)
        #expect(kind(verdict(206, [rest, ("Last-Modified", "now")])) == .resourceChanged)
        #expect(kind(verdict(206, [("Content-Range", "bytes 40-99/101"), ("ETag", "\"a\"")])) == .resourceChanged)
        #expect(kind(verdict(206, [rest, ("ETag", "\"a\""), ("Content-Encoding", "gzip")])) == .resourceChanged)
        #expect(verdict(206, [rest, ("ETag", "\"b\"")], whenChanged: .restart) == .restart)
    }

    @Test func `another tag is another version, though the date is the same`() {
        let weak = ResourceVersion(total: 100, etag: "W/\"a\"", lastModified: "then")
        let date = ("Last-Modified", "then")
        #expect(kind(verdict(206, [rest, ("ETag", "W/\"b\""), date], version: weak)) == .resourceChanged)
        #expect(kind(verdict(206, [rest, ("ETag", "\"b\""), date], version: weak)) == .resourceChanged)
        #expect(kind(verdict(206, [rest, ("ETag", "W/\"b\""), date])) == .resourceChanged)
        #expect(verdict(206, [rest, ("ETag", "W/\"b\""), date], version: weak, whenChanged: .restart) == .restart)
        let going = ResumeRule.Verdict.part(40..<100, total: 100)
        #expect(verdict(206, [rest, ("ETag", "W/\"a\""), date], version: weak) == going)
        #expect(verdict(206, [rest, ("ETag", "W/\"a\""), date]) == going)
        #expect(verdict(206, [rest, date], version: weak) == going)
    }

    @Test(arguments: [
        ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:01 GMT", true),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", false),
        ("Wed, 21 Oct 2015 07:28:01 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", false),
        ("then", "Wed, 21 Oct 2015 07:28:00 GMT", true), ("Wed, 21 Oct 2015 07:28:00 GMT", "now", true),
    ])
    func `a date of the same second as the response tells no versions apart`(
        _ changed: String, _ sent: String, _ isStrong: Bool
    ) {
        let fields = HTTPFields([HTTPFields.Field("Last-Modified", changed), HTTPFields.Field("Date", sent)])
        #expect(ResourceVersion(toKeep: fields, total: 1).isRecognizable == isStrong)
        #expect(ResourceVersion(fields, total: 1).lastModified == changed)
    }

    @Test func `what proves nothing is begun anew, or refused`() {
        #expect(verdict(206, [rest]) == .restart)
        #expect(verdict(206, [rest, ("ETag", "W/\"a\"")]) == .restart)
        #expect(kind(verdict(206, [rest, ("ETag", "W/\"b\"")])) == .resourceChanged)
        #expect(kind(verdict(206, [rest], whenChanged: .fail)) == .resourceChanged)
    }

    @Test func `a digest that is known beforehand outweighs validators, but no length and no coding`() {
        #expect(verdict(206, [rest, ("ETag", "\"b\"")], isVerified: true) == .part(40..<100, total: 100))
        #expect(verdict(206, [rest], isVerified: true) == .part(40..<100, total: 100))
        #expect(kind(verdict(206, [("Content-Range", "bytes 40-100/101")], isVerified: true)) == .resourceChanged)
        #expect(kind(verdict(206, [rest, ("Content-Encoding", "br")], isVerified: true)) == .resourceChanged)
    }

    @Test func `another part than the requested part is refused`() {
        let etag = ("ETag", "\"a\"")
        for range in ["bytes 41-99/100", "bytes 0-99/100", "bytes 39-99/100"] {
            #expect(kind(verdict(206, [("Content-Range", range), etag])) == .malformedResponse)
        }
        for range in ["bytes 99-40/100", "bytes 40-100/100", "items 40-99/100", "bytes 40-99", "bytes */100", ""] {
            #expect(kind(verdict(206, [("Content-Range", range), etag])) == .malformedResponse)
        }
        let none: [(String, String)] = [etag]
        #expect(kind(verdict(206, none)) == .malformedResponse)
        #expect(kind(verdict(206, [rest, rest, etag])) == .malformedResponse)
        // more than the gap that was asked for
        let long = verdict(206, [("Content-Range", "bytes 40-60/100"), etag], requested: 40..<50)
        #expect(kind(long) == .malformedResponse)
        guard case .fail(let failure) = long else { return }
        #expect(failure.message == "the server sent bytes 40-60, though bytes 40-49 were asked for")
        let short = verdict(206, [("Content-Range", "bytes 40-45/100"), etag], requested: 40..<50)
        #expect(short == .part(40..<46, total: 100))
    }

    @Test func `a whole response begins anew unless that is refused`() {
        let fresh = ResourceVersion(total: 100, etag: "\"b\"")
        #expect(verdict(200, [("ETag", "\"b\"")], length: 100) == .whole(fresh))
        #expect(verdict(200, [("ETag", "\"b\"")], length: 100, whenChanged: .restart) == .whole(fresh))
        #expect(kind(verdict(200, [("ETag", "\"a\"")], length: 100, whenChanged: .fail)) == .resourceChanged)
    }

    @Test func `nothing behind the end is the end where that is where it was`() {
        #expect(verdict(416, [("Content-Range", "bytes */100")], held: 100, requested: 100..<Int64.max) == .complete)
        #expect(verdict(416, [("Content-Range", "bytes */100"), ("ETag", "\"a\"")], held: 100) == .complete)
        let other = [("Content-Range", "bytes */100"), ("ETag", "\"b\"")]
        #expect(kind(verdict(416, other, held: 100)) == .resourceChanged)
        #expect(kind(verdict(416, [("Content-Range", "bytes */99")], held: 100)) == .resourceChanged)
        #expect(kind(verdict(416, [("Content-Range", "bytes */40")], held: 40)) == .resourceChanged)
        #expect(kind(verdict(416, [], held: 100)) == .resourceChanged)
        if case .fail(let failure) = verdict(416, [("Content-Range", "bytes */100")], held: 40) {
            #expect(failure.message.contains("refuses the range") && !failure.message.contains("another length"))
        } else {
            Issue.record("a range that the server refuses is no end")
        }
        #expect(verdict(416, [], held: 100, whenChanged: .restart) == .restart)
        let unknown = ResourceVersion(etag: "\"a\"")
        #expect(verdict(416, [("Content-Range", "bytes */40")], held: 40, version: unknown) == .complete)
    }

    @Test func `a failed precondition is a change, and other statuses leave what there is`() {
        #expect(kind(verdict(412, [])) == .resourceChanged)
        #expect(verdict(412, [], whenChanged: .restart) == .restart)
        for status in [204, 304, 401, 404, 500, 503] { #expect(kind(verdict(status, [])) == .unacceptableStatusCode) }
        #expect([401, 404, 429, 503].map { ResumeRule.refused($0).retryable } == [false, false, true, true])
    }

    @Test func `what was not requested in parts does not come in parts`() {
        #expect(kind(verdict(206, [rest], requested: nil)) == .malformedResponse)
        #expect(verdict(200, [], requested: nil, length: 7) == .whole(ResourceVersion(total: 7)))
        #expect(verdict(304, [], requested: nil) == .notModified)
        #expect(verdict(404, [], requested: nil) == .whole(ResourceVersion()))
        let rule = ResumeRule(requested: nil, version: ResourceVersion(), held: HeldRanges())
        let verdict = rule.verdict(status: 206, [], length: 5, isOwnRange: true)
        #expect(verdict == .whole(ResourceVersion(total: 5)))
    }

    @Test(
        "numbers of a Content-Range never overflow",
        arguments: [
            "bytes 0-9223372036854775807/*", "bytes 9223372036854775807-9223372036854775807/*",
            "bytes 0-99999999999999999999/*", "bytes -1-2/3", "bytes 1--2/3", "bytes 1-2/-3", "bytes 0x1-2/3",
        ])
    func ranges(text: String) {
        #expect(ContentRange(parsing: text) == nil)
    }
}

/// What is there and what is missing.
struct HeldRangesTests {
    private static func held(_ ranges: [Range<Int64>]) -> HeldRanges {
        var held = HeldRanges()
        for range in ranges { held.insert(range) }
        return held
    }

    @Test(
        arguments: [
            (0..<10, [20..<30]), (5..<25, [0..<5, 25..<30]), (3..<4, [0..<3, 4..<10, 20..<30]),
            (10..<20, [0..<10, 20..<30]),
            (0..<40, []), (29..<40, [0..<10, 20..<29]), (7..<7, [0..<10, 20..<30]),
        ] as [(Range<Int64>, [Range<Int64>])])
    func `what is taken out is missing, and nothing else`(_ range: Range<Int64>, _ left: [Range<Int64>]) {
        var held = Self.held([0..<10, 20..<30])
        held.remove(range)
        #expect(held.ranges == left)
    }

    @Test func `a range is there only if all of it is`() {
        let held = Self.held([0..<10, 20..<30])
        #expect(held.contains(0..<10) && held.contains(21..<30))
        #expect(!held.contains(9..<11) && !held.contains(0..<30) && !held.contains(10..<20))
    }

    @Test func `ranges join, and gaps are what is between them`() {
        var held = HeldRanges()
        held.insert(10..<20)
        held.insert(30..<40)
        #expect(held.gaps(of: 50) == [0..<10, 20..<30, 40..<50])
        #expect(held.prefix == 0 && held.count == 20 && held.end == 40 && !held.isPrefix)
        held.insert(0..<10)
        held.insert(20..<30)
        #expect(held.ranges == [0..<40] && held.isPrefix && held.gaps(of: 40).isEmpty)
        #expect(held.gaps(of: nil) == [40..<Int64.max])
        #expect(held.clipped(to: 25).ranges == [0..<25])
    }

    @Test func `in any order they hold what was put in`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<500 {
            var held = HeldRanges()
            var bytes = Set<Int64>()
            for _ in 0..<12 {
                let start = Int64.random(in: 0..<60, using: &random)
                let range = start..<(start + Int64.random(in: 0...12, using: &random))
                if Int.random(in: 0..<4, using: &random) == 0 {
                    held.remove(range)
                    bytes.subtract(range)
                    continue
                }
                held.insert(range)
                bytes.formUnion(range)
                #expect(held.contains(range) || range.isEmpty)
            }
            #expect(Set(held.ranges.flatMap { Array($0) }) == bytes && held.count == Int64(bytes.count))
            let gaps = held.gaps(of: 80).flatMap { Array($0) }
            #expect(Set(gaps) == Set(0..<80).subtracting(bytes) && gaps.count == Set(gaps).count)
        }
    }

    @Test func `pieces are the gaps, divided`() {
        var random = SeededRandom(seed: 9)
        for _ in 0..<500 {
            var held = HeldRanges()
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let start = Int64.random(in: 0..<900, using: &random)
                held.insert(start..<(start + 50))
            }
            let count = Int.random(in: 1...16, using: &random)
            let gaps = held.gaps(of: 1000)
            let pieces = SegmentPlan.pieces(gaps, count, leastBytes: 10)
            #expect(pieces.count <= count && pieces.first?.lowerBound == gaps.first?.lowerBound)
            #expect(pieces.allSatisfy { !$0.isEmpty })
            let covered = pieces.flatMap { Array($0) }
            #expect(Set(covered).count == covered.count && Set(covered).isSubset(of: gaps.flatMap { Array($0) }))
            if gaps.count == 1 { #expect(covered == Array(gaps[0])) }
        }
        #expect(SegmentPlan.pieces([0..<100], 4, leastBytes: 10) == [0..<25, 25..<50, 50..<75, 75..<100])
        #expect(SegmentPlan.pieces([0..<100], 4, leastBytes: 60) == [0..<100])
        #expect(SegmentPlan.pieces([], 4) == [])
    }
}
