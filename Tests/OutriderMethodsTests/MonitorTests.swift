// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderMethods

/// A log that remembers what was written.
private final class KeptLog: LogOutlet {
    private let lines = Mutex<[String]>([])
    private let level: Mutex<LogSetting.Level>
    let takesLines: Bool
    let dropped = 0

    init(_ level: LogSetting.Level, takesLines: Bool = true) {
        self.level = Mutex(level)
        self.takesLines = takesLines
    }

    func isLogged(_ level: LogSetting.Level) -> Bool {
        let all = LogSetting.Level.allCases
        return all.firstIndex(of: level) ?? 0 >= all.firstIndex(of: self.level.withLock { $0 }) ?? 0
    }

    func write(_ line: some LogLine) { lines.withLock { $0.append("\(line.level.rawValue) \(line.text)") } }

    var all: [String] { lines.withLock { $0 } }
}

struct MonitorTests {
    private let engine = Engine(transport: SilentTransport(), group: MultiThreadedEventLoopGroup.singleton)

    private func scope(_ log: any LogOutlet = NoLog()) -> ClientScope {
        ClientScope(Service(engine: engine, log: log) { PoolCounts() }, ScriptedControl())
    }

    private func call(_ method: String, _ params: JSONObject, _ scope: ClientScope, _ peer: ScriptedPeer) async throws
        -> JSONObject
    {
        let result = try await Call.run(method, .object(params), peer: peer, scope: scope)
        return try #require(result.object)
    }

    private func topics(_ events: [Event]) throws -> [String] {
        try events.map { try #require(try JSONParser.parse($0.params.bytes).object?["topic"]?.string) }
    }

    @Test func `what the contract lists is what there is`() throws {
        let document = Array(
            UnsafeBufferPointer(
                start: MonitorTopics.document.utf8Start, count: MonitorTopics.document.utf8CodeUnitCount))
        let listed = try #require(try JSONParser.parse(document).object?["topics"]?.array)
        let names = try listed.map { try #require($0.object?["name"]?.string) }
        #expect(Set(names) == Set(MonitorTopic.allCases.map(\.name)) && names.count == MonitorTopic.allCases.count)
        for entry in listed {
            let topic = MonitorTopic.allCases.first { $0.name == entry.object?["name"]?.string }
            #expect(entry.object?["level"]?.string == topic?.level.rawValue)
        }
    }

    @Test func `nothing is wanted without a subscriber`() async throws {
        let scope = scope()
        let peer = ScriptedPeer()
        #expect(MonitorTopic.allCases.allSatisfy { !engine.monitor.wants($0) })
        let made = try await call("events.subscribe", ["topics": .array([.string("request.*")])], scope, peer)
        #expect(engine.monitor.wants(.requestCreated) && !engine.monitor.wants(.attemptCreated))
        let name = try #require(made["subscription"])
        _ = try await call("events.unsubscribe", ["subscription": name], scope, peer)
        #expect(MonitorTopic.allCases.allSatisfy { !engine.monitor.wants($0) })
    }

    @Test func `the end of a connection ends its subscriptions`() async throws {
        let scope = scope()
        _ = try await call("events.subscribe", ["topics": .array([.string("*")])], scope, ScriptedPeer())
        #expect(engine.monitor.wants(.requestFinished) && scope.service.monitors.subscriptionCount == 1)
        scope.close()
        #expect(!engine.monitor.wants(.requestFinished) && scope.service.monitors.subscriptionCount == 0)
    }

    @Test func `a client hears of its own requests, and of no other's`() async throws {
        let service = Service(engine: engine) { PoolCounts() }
        let (mine, other) = (ClientScope(service, ScriptedControl()), ClientScope(service, ScriptedControl()))
        let (peer, stranger) = (ScriptedPeer(), ScriptedPeer())
        let wanted: JSONObject = ["topics": .array([.string("request.finished")])]
        _ = try await call("events.subscribe", wanted, mine, peer)
        _ = try await call("events.subscribe", wanted, other, stranger)
        let url: JSONObject = ["url": .string("http://127.0.0.1:1/"), "tag": .string("mine")]
        _ = try await call("data.send", url, mine, peer)
        let event = try #require(await peer.events(1).first)
        #expect(event.name == "event.monitor")
        #expect(try JSONParser.parse(event.params.bytes).object?["tag"]?.string == "mine")
        _ = try await call("data.send", ["url": .string("http://127.0.0.1:2/")], other, stranger)
        #expect(await stranger.events(1).count == 1 && peer.events.count == 1)
    }

    @Test func `the log shows what its level says, and no secrets`() async throws {
        let log = KeptLog(.info)
        let scope = scope(log)
        let url: JSONObject = ["url": .string("http://127.0.0.1:1/a?token=CANARY")]
        _ = try await call("data.send", url, scope, ScriptedPeer())
        #expect(log.all.count == 1)
        #expect(log.all.allSatisfy { $0.hasPrefix("info request.finished GET http://127.0.0.1:1/a?***") })
        #expect(log.all.allSatisfy { !$0.contains("CANARY") })
    }

    @Test func `a log that goes to a client does not show the requests of others`() async throws {
        let log = KeptLog(.trace, takesLines: false)
        let scope = scope(log)
        _ = try await call("data.send", ["url": .string("http://127.0.0.1:1/")], scope, ScriptedPeer())
        #expect(log.all.isEmpty && !engine.monitor.wants(.requestFinished))
    }

    @Test(
        "URLs are shown without secrets",
        arguments: [
            ("http://u:p@h/a?token=x&b=1", "http://***@h/a?token=***&b=1", "http://***@h/a?***"),
            ("http://h/a@b?c=d", "http://h/a@b?c=d", "http://h/a@b?***"),
            ("http://h/#f", "http://h/#f", "http://h/?***"),
            ("http://h?a@b", "http://h?a@b", "http://h?***"), ("no url", "no url", "no url"),
        ])
    func urls(_ url: String, _ owner: String, _ log: String) {
        #expect(MonitorMask.owner.url(url) == owner && MonitorMask.log.url(url) == log)
    }

    @Test func `the log shows values of harmless fields only`() {
        let fields = HTTPFields([
            HTTPFields.Field("Content-Type", "text/plain"), HTTPFields.Field("X-Anything", "CANARY"),
            HTTPFields.Field("Authorization", "CANARY"),
        ])
        #expect(MonitorMask.log.fields(fields).list.map(\.value) == ["text/plain", "***", "***"])
        #expect(MonitorMask.owner.fields(fields).list.map(\.value) == ["text/plain", "CANARY", "***"])
    }

    @Test func `what a client's own code said is not logged`() {
        let failure = HTTPFailure(.customValidationFailed, "CANARY", details: [.path("CANARY")])
        let shown = MonitorMask.log.failure(failure)
        #expect(!shown.message.contains("CANARY") && shown.details.isEmpty)
        #expect(MonitorMask.owner.failure(failure) == failure)
    }
}

struct PrometheusTextTests {
    @Test func `help, type and samples stand one after the other`() {
        var text = PrometheusText()
        text.add("a_total", .counter, "Of\\a.", [PrometheusText.Sample(3, [(name: "l", value: "q\"b\\s\nn")])])
        #expect(text.text == "# HELP a_total Of\\\\a.\n# TYPE a_total counter\na_total{l=\"q\\\"b\\\\s\\nn\"} 3\n")
    }

    @Test func `a histogram has a bucket for each bound, one for all, a sum and a count`() {
        var histogram = Histogram(bounds: [0.5, 2])
        for value in [0.25, 1, 5] { histogram.observe(value) }
        var text = PrometheusText()
        text.add("h_seconds", "Time.", by: "phase", [("dns", histogram)])
        #expect(
            text.text.split(separator: "\n").dropFirst(2).map(String.init) == [
                "h_seconds_bucket{phase=\"dns\",le=\"0.5\"} 1", "h_seconds_bucket{phase=\"dns\",le=\"2\"} 2",
                "h_seconds_bucket{phase=\"dns\",le=\"+Inf\"} 3", "h_seconds_sum{phase=\"dns\"} 6.25",
                "h_seconds_count{phase=\"dns\"} 3",
            ])
    }

    @Test func `a family without samples is left out`() {
        var text = PrometheusText()
        text.add("a_total", .counter, "None.", [])
        #expect(text.text.isEmpty)
    }

    @Test(
        "numbers are written as the format wants them",
        arguments: [
            (1.0, "1"), (0.5, "0.5"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
        ])
    func numbers(_ value: Double, _ text: String) {
        #expect(PrometheusText.number(value) == text)
    }
}
