// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct TopicTests {
    @Test func `names are the words of the case, with one dot`() {
        #expect(MonitorTopic.requestCreated.name == "request.created")
        #expect(MonitorTopic.requestAdaptationFailed.name == "request.adaptationFailed")
        #expect(MonitorTopic.attemptBodySent.name == "attempt.bodySent")
        #expect(Set(MonitorTopic.allCases.map(\.name)).count == MonitorTopic.allCases.count)
    }

    @Test func `there is a bit for every topic, and another for each`() {
        #expect(MonitorTopic.allCases.count <= 128)
        #expect(TopicSet.all.topics == MonitorTopic.allCases)
        for topic in MonitorTopic.allCases { #expect(TopicSet(topic).topics == [topic]) }
    }

    @Test func `the log shows more with each level below`() {
        let info = TopicSet.logged(from: .info)
        let debug = TopicSet.logged(from: .debug)
        let trace = TopicSet.logged(from: .trace)
        #expect(info.contains(.requestFinished) && !info.contains(.attemptAnswered))
        #expect(debug.isStrictSuperset(of: info) && trace.isStrictSuperset(of: debug) && trace == .all)
    }

    @Test(
        "a star is any run of characters",
        arguments: [
            ("request.finished", ["request.finished"]),
            ("*.failed", ["upload.failed", "callback.failed", "token.failed"]),
            ("*Failed", ["request.adaptationFailed"]), ("request.re*med", ["request.resumed"]),
            ("s*c*closed", []), ("session.c*", ["session.created", "session.closed"]), ("request", []), ("", []),
            ("Request.finished", []), ("request.finished*", ["request.finished"]),
            ("*quest.pars*d", ["request.parsed"]),
        ])
    func stars(_ pattern: String, _ names: [String]) {
        #expect(Set(TopicPattern(pattern).topics.topics.map(\.name)) == Set(names))
    }

    @Test func `a star alone is everything, and a prefix with one is a family`() {
        #expect(TopicPattern("*").topics == .all && TopicPattern("**").topics == .all)
        let requests = TopicPattern("request.*").topics.topics
        #expect(requests.count > 10 && requests.allSatisfy { $0.name.hasPrefix("request.") })
    }

    @Test func `many stars cost no more than time`() {
        let pattern = String(repeating: "*a", count: 2000)
        #expect(!TopicPattern(pattern).matches(String(repeating: "b", count: 2000)))
        #expect(!TopicPattern(pattern + "c").matches(String(repeating: "a", count: 2000)))
    }

    /// Against the plain definition, on all short words of two letters.
    @Test func `patterns mean what their definition says`() {
        func means(_ pattern: Substring, _ name: Substring) -> Bool {
            guard let first = pattern.first else { return name.isEmpty }
            if first == "*" {
                return means(pattern.dropFirst(), name) || (!name.isEmpty && means(pattern, name.dropFirst()))
            }
            return name.first == first && means(pattern.dropFirst(), name.dropFirst())
        }
        func words(_ letters: [String], _ length: Int) -> [String] {
            length == 0 ? [""] : words(letters, length - 1).flatMap { word in [word] + letters.map { word + $0 } }
        }
        for pattern in Set(words(["a", "b", "*"], 4)) {
            for name in Set(words(["a", "b"], 4)) {
                #expect(TopicPattern(pattern).matches(name) == means(pattern[...], name[...]), "\(pattern) \(name)")
            }
        }
    }
}

struct HistogramTests {
    @Test func `a value belongs under the first bound that it does not exceed`() {
        var histogram = Histogram(bounds: [1, 2])
        for value in [0, 1, 1.5, 2, 3, .infinity] { histogram.observe(value) }
        #expect(histogram.counts == [2, 2, 2] && histogram.cumulative == [2, 4, 6] && histogram.count == 6)
    }

    @Test func `what is no number is left out, and less than nothing is nothing`() {
        var histogram = Histogram(bounds: [1])
        histogram.observe(.nan)
        histogram.observe(-5)
        #expect(histogram.count == 1 && histogram.sum == 0)
    }
}
