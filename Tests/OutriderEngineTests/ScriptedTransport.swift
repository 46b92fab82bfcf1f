// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderTransport
import Synchronization

/// A transport that answers from scripts, one for each sending (the last for all that follow), and can be held up at any
/// point.
final class ScriptedTransport: Transport {
    struct Script: Sendable {
        var status = 200
        var fields: HTTPFields = [HTTPFields.Field("Content-Type", "text/plain")]
        var chunks: [[UInt8]] = []
        var failureBeforeHead: HTTPFailure?
        var failureAfterChunks: HTTPFailure?
        /// Waits before the head until it is cancelled.
        var hangsBeforeHead = false
        /// Waits after the chunks until it is cancelled.
        var hangsAfterChunks = false
        /// Done before each chunk is handed out, with its index.
        var beforeChunk: (@Sendable (Int) -> Void)?
    }

    let scripts: [Script]
    let control = CountingControl()
    let abandoned = Atomic(0)
    let sent = Atomic(0)
    private let seen = Mutex<[Attempt]>([])

    init(_ scripts: [Script]) { self.scripts = scripts }

    /// What was sent, in order.
    var attempts: [Attempt] { seen.withLock { $0 } }

    func send(
        _ attempt: Attempt, observer: any AttemptObserver
    ) async throws(HTTPFailure) -> AttemptResponse {
        let number = sent.wrappingAdd(1, ordering: .relaxed).oldValue
        seen.withLock { $0.append(attempt) }
        let script = scripts[min(number, scripts.count - 1)]
        observer.sending(control)
        if case .bytes(let bytes) = attempt.body { observer.bodySent(Int64(bytes.count), onWire: nil) }
        if let failure = script.failureBeforeHead { throw failure }
        if script.hangsBeforeHead { throw await Self.cancellation() }
        return AttemptResponse(
            status: script.status, reason: "", version: "1.1", fields: script.fields, body: Body(self, script))
    }

    static func cancellation() async -> HTTPFailure {
        // ends at once when the task is cancelled
        try? await Task.sleep(for: .seconds(60))
        return HTTPFailure(.explicitlyCancelled, "cancelled")
    }

    /// Counts how often it was held up and let go.
    final class CountingControl: AttemptControl {
        let holds = Atomic(0)
        let releases = Atomic(0)

        func hold() { holds.wrappingAdd(1, ordering: .relaxed) }
        func release() { releases.wrappingAdd(1, ordering: .relaxed) }
    }

    final class Body: AttemptResponseBody {
        private let transport: ScriptedTransport
        private let script: Script
        private let next = Atomic(0)

        init(_ transport: ScriptedTransport, _ script: Script) {
            self.transport = transport
            self.script = script
        }

        var expectedBytes: Int64? { nil }
        var trailers: HTTPFields { [] }

        var timeline: Timeline {
            var timeline = Timeline()
            timeline.remote = "127.0.0.1:80"
            timeline.bytesReceived = 100
            return timeline
        }

        func next() async throws(HTTPFailure) -> ByteBuffer? {
            let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
            if index < script.chunks.count {
                script.beforeChunk?(index)
                return ByteBuffer(bytes: script.chunks[index])
            }
            if let failure = script.failureAfterChunks { throw failure }
            if script.hangsAfterChunks { throw await ScriptedTransport.cancellation() }
            return nil
        }

        func abandon() { transport.abandoned.wrappingAdd(1, ordering: .relaxed) }
    }
}

/// An engine over a script, with limits and a directory of its own.
struct Stage {
    let transport: ScriptedTransport
    let engine: Engine
    let quota: BodyQuota

    init(
        _ scripts: ScriptedTransport.Script..., in directory: String? = nil, memory: Int = 1 << 20,
        files: Int = 1 << 30, mostAttempts: Int = 100
    ) {
        transport = ScriptedTransport(scripts)
        var settings = EngineSettings()
        settings.temporaryDirectory = directory
        settings.quota.memory = memory
        settings.quota.memoryPerBody = memory
        settings.quota.files = files
        settings.mostAttempts = mostAttempts
        engine = Engine(transport: transport, group: MultiThreadedEventLoopGroup.singleton, settings: settings)
        quota = engine.makeQuota()
    }

    func exchange(
        _ destination: BodyDestination = .inline, maxInline: Int = 1000, keepsBody: Bool = false,
        observer: (any ExchangeObserver)? = nil, advisor: (any ExchangeAdvisor)? = nil,
        _ change: (inout RequestSpec) -> Void = { _ in }
    ) async -> Exchange {
        var spec = RequestSpec(url: "http://127.0.0.1/a")
        spec.destination = destination
        spec.maxInline = maxInline
        change(&spec)
        return await engine.exchange(
            spec, quota: quota, keepsBody: keepsBody, observer: observer, advisor: advisor)
    }

    /// Runs it to its end.
    func outcome(
        _ destination: BodyDestination = .inline, maxInline: Int = 1000, keepsBody: Bool = false,
        observer: (any ExchangeObserver)? = nil, advisor: (any ExchangeAdvisor)? = nil,
        _ change: (inout RequestSpec) -> Void = { _ in }
    ) async -> ExchangeOutcome? {
        let exchange = await exchange(
            destination, maxInline: maxInline, keepsBody: keepsBody, observer: observer, advisor: advisor, change)
        exchange.start()
        _ = await exchange.reached(.finish)
        return exchange.takeOutcome()
    }
}

/// Writes down what it hears.
final class Listener: ExchangeObserver {
    private let heard = Mutex<[String]>([])
    let progressInterval: Double?

    init(progressInterval: Double? = nil) { self.progressInterval = progressInterval }

    var events: [String] { heard.withLock { $0 } }

    func heard(_ event: ExchangeEvent) async { glimpsed(event) }

    func glimpsed(_ event: ExchangeEvent) {
        let word =
            switch event {
            case .state(let phase, _): phase.rawValue
            case .response(let head, _, let attempt): "response \(head.status) \(attempt)"
            case .redirect(let hop, let attempt): "redirect \(hop.status) \(hop.to) \(attempt)"
            case .retry(let attempt, let delay, _): "retry \(attempt) \(delay)"
            case .progress(let progress):
                "\(progress.direction.rawValue) \(progress.completed)/\(progress.total.map { "\($0)" } ?? "?")"
            case .finish(let outcome): outcome.failure == nil ? "well" : "badly"
            }
        heard.withLock { $0.append(word) }
    }
}
