// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderEngine
import OutriderHTTP
import OutriderTransport
import Synchronization

/// A transport that responds as scripts say, one for each attempt or redirect (the last for all that follow). Its
/// attempts are driven by completions, as those of the network are, and can be held up at any point.
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
        /// The head and each chunk arrive in a later turn of the event loop.
        var arrivesLater = false
        /// Done before each chunk is handed out, with its index.
        var beforeChunk: (@Sendable (Int) -> Void)?
    }

    let loop: any EventLoop
    let scripts: [Script]
    let control = CountingControl()
    let abandoned = Atomic(0)
    let sent = Atomic(0)
    private let seen = Mutex<[Attempt]>([])

    init(_ scripts: [Script], on loop: any EventLoop) {
        self.scripts = scripts
        self.loop = loop
    }

    /// What was sent, in order.
    var attempts: [Attempt] { seen.withLock { $0 } }

    func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        loop.assertInEventLoop()
        let number = sent.wrappingAdd(1, ordering: .relaxed).oldValue
        seen.withLock { $0.append(attempt) }
        return ScriptedAttempt(self, scripts[min(number, scripts.count - 1)], attempt, observer)
    }

    /// Counts how often it was held up and let go.
    final class CountingControl: AttemptControl {
        let holds = Atomic(0)
        let releases = Atomic(0)

        func hold() { holds.wrappingAdd(1, ordering: .relaxed) }
        func release() { releases.wrappingAdd(1, ordering: .relaxed) }
    }
}

/// One attempt of a script.
// proof: all but `next` and `abandon` is used on the loop only, and these go there.
final class ScriptedAttempt: LoopAttempt, @unchecked Sendable {
    typealias Piece = Result<ByteBuffer?, HTTPFailure>

    fileprivate let transport: ScriptedTransport
    private let script: ScriptedTransport.Script
    private let attempt: Attempt
    private let observer: any AttemptObserver
    private var next = 0
    private var isCancelled = false
    private var head: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    private var piece: ((Piece) -> Void)?

    init(
        _ transport: ScriptedTransport, _ script: ScriptedTransport.Script, _ attempt: Attempt,
        _ observer: any AttemptObserver
    ) {
        self.transport = transport
        self.script = script
        self.attempt = attempt
        self.observer = observer
    }

    private static var cancelled: HTTPFailure { HTTPFailure(.explicitlyCancelled, "cancelled") }

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        transport.loop.assertInEventLoop()
        if isCancelled { return completion(.failure(Self.cancelled)) }
        observer.sending(transport.control)
        if case .bytes(let bytes) = attempt.body { observer.bodySent(Int64(bytes.count), onWire: nil) }
        if let failure = script.failureBeforeHead { return completion(.failure(failure)) }
        if script.hangsBeforeHead || script.arrivesLater { head = completion }
        if script.hangsBeforeHead { return }
        let response = AttemptResponse(
            status: script.status, reason: "", version: "1.1", fields: script.fields, body: ScriptedBody(self))
        guard script.arrivesLater else { return completion(.success(response)) }
        transport.loop.execute { self.take(&self.head)?(.success(response)) }
    }

    func poll(_ completion: @escaping (Piece) -> Void) -> Piece? {
        transport.loop.assertInEventLoop()
        if isCancelled { return .failure(Self.cancelled) }
        if next == script.chunks.count, script.hangsAfterChunks, script.failureAfterChunks == nil {
            piece = completion
            return nil
        }
        guard script.arrivesLater else { return ready() }
        piece = completion
        transport.loop.execute { self.take(&self.piece)?(self.ready()) }
        return nil
    }

    private func ready() -> Piece {
        guard next < script.chunks.count else {
            if let failure = script.failureAfterChunks { return .failure(failure) }
            return .success(nil)
        }
        script.beforeChunk?(next)
        next += 1
        return .success(ByteBuffer(bytes: script.chunks[next - 1]))
    }

    func cancel() {
        transport.loop.assertInEventLoop()
        isCancelled = true
        take(&head)?(.failure(Self.cancelled))
        take(&piece)?(.failure(Self.cancelled))
    }

    private func take<Completion>(_ completion: inout Completion?) -> Completion? {
        defer { completion = nil }
        return completion
    }
}

/// The body of a scripted response.
final class ScriptedBody: AttemptResponseBody {
    private let attempt: ScriptedAttempt

    init(_ attempt: ScriptedAttempt) { self.attempt = attempt }

    var expectedBytes: Int64? { nil }
    var trailers: HTTPFields { [] }

    var timeline: Timeline {
        var timeline = Timeline()
        timeline.remote = "127.0.0.1:80"
        timeline.bytesReceived = 100
        return timeline
    }

    func next() async throws(HTTPFailure) -> ByteBuffer? {
        let (attempt, loop) = (attempt, attempt.transport.loop)
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<ScriptedAttempt.Piece, Never>) in
                loop.execute {
                    if let ready = attempt.poll({ continuation.resume(returning: $0) }) {
                        continuation.resume(returning: ready)
                    }
                }
            }
        } onCancel: {
            loop.execute { attempt.cancel() }
        }.get()
    }

    func abandon() { attempt.transport.abandoned.wrappingAdd(1, ordering: .relaxed) }
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
        let group = MultiThreadedEventLoopGroup.singleton
        transport = ScriptedTransport(scripts, on: group.next())
        var settings = EngineSettings()
        settings.temporaryDirectory = directory
        settings.quota.memory = memory
        settings.quota.memoryPerBody = memory
        settings.quota.files = files
        settings.mostAttempts = mostAttempts
        engine = Engine(transport: transport, group: group, settings: settings)
        quota = engine.makeQuota()
    }

    func exchange(
        _ destination: BodyDestination = .inline, maxInline: Int = 1000, keepsBody: Bool = false,
        observer: (any ExchangeObserver)? = nil, delegate: (any ExchangeDelegate)? = nil,
        _ change: (inout RequestSpec) -> Void = { _ in }
    ) async -> Exchange {
        var spec = RequestSpec(url: "http://127.0.0.1/a")
        spec.destination = destination
        spec.maxInline = maxInline
        change(&spec)
        return await engine.exchange(
            spec, ExchangeSetup(quota: quota, keepsBody: keepsBody, observer: observer, delegate: delegate))
    }

    /// Runs it to its end.
    func outcome(
        _ destination: BodyDestination = .inline, maxInline: Int = 1000, keepsBody: Bool = false,
        observer: (any ExchangeObserver)? = nil, delegate: (any ExchangeDelegate)? = nil,
        _ change: (inout RequestSpec) -> Void = { _ in }
    ) async -> ExchangeOutcome? {
        let exchange = await exchange(
            destination, maxInline: maxInline, keepsBody: keepsBody, observer: observer, delegate: delegate, change)
        exchange.start()
        _ = await exchange.reached(.finish)
        return exchange.takeOutcome()
    }
}

/// Has no room for an event until `open` is called.
final class SlowListener: ExchangeObserver {
    private let listener = Listener()
    private let closed = Mutex<[UnsafeContinuation<Void, Never>]>([])
    private let opened = Atomic(0)

    var progressInterval: Double? { nil }
    var events: [String] { listener.events }

    func receive(_ event: ExchangeEvent) -> EventDelivery? {
        _ = listener.receive(event)
        return { await self.waitForRoom() }
    }

    func receiveDroppable(_ event: ExchangeEvent) {}

    func open() {
        closed.withLock { closed in
            if closed.isEmpty { opened.wrappingAdd(1, ordering: .relaxed) } else { closed.removeFirst().resume() }
        }
    }

    private func waitForRoom() async {
        await withUnsafeContinuation { continuation in
            closed.withLock { closed in
                guard opened.load(ordering: .relaxed) > 0 else { return closed.append(continuation) }
                opened.wrappingSubtract(1, ordering: .relaxed)
                continuation.resume()
            }
        }
    }
}

/// Writes down what it hears.
final class Listener: ExchangeObserver {
    private let heard = Mutex<[String]>([])
    let progressInterval: Double?

    init(progressInterval: Double? = nil) { self.progressInterval = progressInterval }

    var events: [String] { heard.withLock { $0 } }

    func receive(_ event: ExchangeEvent) -> EventDelivery? {
        receiveDroppable(event)
        return nil
    }

    func receiveDroppable(_ event: ExchangeEvent) {
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
