// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// An attempt of a session with a stage: it follows a script, or goes to the network.
///
///     created ──▶ collecting the body ──▶ waiting for the head ──▶ body ──▶ over
///                                    └──▶ carried by the network ──────────┘
// proof: everything runs on the loop of the transport; `PolledBody` and `hold` go there.
final class StagedAttempt: PolledAttempt, @unchecked Sendable {
    typealias Piece = Result<ByteBuffer?, HTTPFailure>

    private enum Source {
        case none
        case script(PreparedScript, next: Int)
        case socket(PlayedSocket)
        case inner(any LoopAttempt)
        /// The script was followed to the end of its body.
        case ended
        case over(HTTPFailure)
    }

    /// The longest body that is compared and recorded, in bytes.
    static let mostBody = 64 << 20
    /// The longest compressed body that is decoded on the event loop, in bytes.
    private static let mostDecodedOnLoop = 1 << 10

    private var attempt: Attempt
    private let stage: ReplayStage
    private let transport: any Transport
    private let observer: any AttemptObserver
    let loop: any EventLoop
    private var source = Source.none
    private var recording: Recording?
    private var collector: BodyCollector?
    private var completion: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    private var waiting: ((Piece) -> Void)?
    private var alarm: Scheduled<Void>?
    private var deadline: Scheduled<Void>?
    private var isHeld = false
    /// What became due during a hold.
    private var due: (@Sendable () -> Void)?
    /// Read by work that waits for a thread.
    private let isStopped = Atomic(false)
    private var given = 0
    /// Bytes of the request body as events count them: those before the service compressed it.
    private var bodySize = 0
    /// As what the request was found in a cassette, if it has an Authorization.
    private var origin: AttemptScript.Origin?
    private var isChunkDue = false

    init(_ attempt: Attempt, _ stage: ReplayStage, _ transport: any Transport, observer: any AttemptObserver) {
        self.attempt = attempt
        self.stage = stage
        self.transport = transport
        self.observer = observer
        loop = transport.loop
    }

    // MARK: what the driver wants

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        self.completion = completion
        if case .over(let failure) = source { return finish(.failure(failure)) }
        switch attempt.body {
        case .none: begin([])
        case .bytes(let bytes): uncompress(bytes)
        case .file(let path, let size): collect(ComposedBody([.file(path: path, size: size, pointer: nil)]))
        case .composed(let body): collect(body)
        }
    }

    func poll(_ completion: @escaping (Piece) -> Void) -> Piece? {
        switch source {
        case .none: return .failure(Self.cancelled)
        case .ended: return .success(nil)
        case .over(let failure): return .failure(failure)
        case .inner(let inner):
            guard let recording else { return inner.poll(completion) }
            let ready = inner.poll { piece in
                recording.took(piece)
                completion(piece)
            }
            if let ready { recording.took(ready) }
            return ready
        case .socket(let socket):
            guard !isHeld, let piece = Self.piece(of: socket) else {
                waiting = completion
                return nil
            }
            return piece
        case .script(let script, let next):
            guard !isHeld, let piece = piece(of: script, next) else {
                waiting = completion
                return nil
            }
            return piece
        }
    }

    func cancel() { stop(Self.cancelled) }

    /// The rest of the body is not wanted.
    func abandon() {
        switch source {
        case .over, .ended: break
        default: stop(Self.cancelled)
        }
    }

    private func stop(_ failure: HTTPFailure) {
        let old = source
        if case .over = old { return }
        source = .over(failure)
        isStopped.store(true, ordering: .relaxed)
        disarm()
        collector?.stop()
        collector = nil
        recording?.cut()
        switch old {
        case .inner(let inner): inner.cancel()
        case .socket(let socket): socket.stop()
        default: break
        }
        let waiting = waiting
        self.waiting = nil
        waiting?(.failure(failure))
        finish(.failure(failure))
    }

    private func finish(_ result: Result<AttemptResponse, HTTPFailure>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    private func disarm() {
        alarm?.cancel()
        deadline?.cancel()
        (alarm, deadline, due) = (nil, nil, nil)
    }

    // MARK: the body of the request

    /// Reads a body that is not in memory. A client's stream is then sent from memory, since it can be read once.
    private func collect(_ body: ComposedBody) {
        armDeadline()
        let collector = BodyCollector(
            body, of: attempt.bodyHolder, for: attempt.client, on: loop, most: Self.mostBody
        ) { result in
            self.collector = nil
            switch result {
            case .failure(let failure): self.stop(failure)
            case .success(let bytes):
                if !body.feeds.isEmpty {
                    self.attempt.body =
                        body.coding == nil
                        ? .bytes(bytes) : .composed(ComposedBody([.bytes(bytes)], coding: body.coding))
                }
                self.uncompress(bytes)
            }
        }
        self.collector = collector
        collector.start()
    }

    /// Decodes a body that was compressed before its sending, by the service or by the client: its bytes before that are
    /// compared, and have their secrets masked.
    private func uncompress(_ body: [UInt8]) {
        bodySize = body.count
        let isKnown = attempt.hasCodedBody
        guard !body.isEmpty, isKnown || attempt.fields.contains("Content-Encoding") else { return begin(body) }
        let isCompressed = attempt.plainBodySize != nil
        let (fields, host) = (attempt.fields, attempt.url.host)
        let decode = { @Sendable () -> [UInt8]? in
            guard isKnown else { return CassetteMask.reads(body, of: fields) ? body : nil }
            return CodedBody.plain(body, fields, from: host, isWhole: true, most: Self.mostBody)
        }
        let go = { @Sendable (plain: [UInt8]?) in
            if isCompressed, let plain { self.bodySize = plain.count }
            self.begin(plain ?? body, isCoded: plain == nil)
        }
        if body.count <= Self.mostDecodedOnLoop { return go(decode()) }
        armDeadline()
        let isTaken = BlockingThreads.computing.run(for: attempt.client) {
            let plain = decode()
            self.loop.execute {
                if case .over = self.source { return }
                go(plain)
            }
        }
        if !isTaken { stop(Self.tooMany) }
    }

    private func begin(_ body: [UInt8], isCoded: Bool = false) {
        follow(stage.course(of: attempt, body, isCoded: isCoded), body)
    }

    private func armDeadline() {
        guard deadline == nil else { return }
        deadline = loop.scheduleTask(in: .seconds(attempt.timeouts.total)) { self.late(.total) }
    }

    /// What takes long is decided away from the event loop. The time of the request counts meanwhile.
    private func decide(
        _ work: @escaping ReplayStage.Work, _ body: [UInt8], refused: @escaping @Sendable () -> Void
    ) {
        armDeadline()
        let isTaken = BlockingThreads.computing.run(for: attempt.client) {
            // the response is left for another request
            if self.isStopped.load(ordering: .relaxed) { return refused() }
            var course = work()
            while case .work(let more, _) = course { course = more() }
            let found = course
            self.loop.execute { self.follow(found, body) }
        }
        if !isTaken {
            refused()
            stop(Self.tooMany)
        }
    }

    private func follow(_ course: ReplayStage.Course, _ body: [UInt8]) {
        if case .over = source { return }
        switch course {
        case .work(let work, let refused): decide(work, body, refused: refused)
        case .network:
            disarm()
            send()
        case .record(let recording):
            disarm()
            self.recording = recording
            if let upgrade = attempt.upgrade {
                attempt.upgrade = .webSocket(RecordedOwner(upgrade.owner, recording))
                // messages are recorded as they are
                attempt.fields.remove("Sec-WebSocket-Extensions")
            }
            send()
        case .fail(let failure): stop(failure)
        case .script(let script, let origin):
            self.origin = origin
            observer.sending(self)
            if attempt.body != .none {
                observer.bodySent(Int64(bodySize), onWire: nil)  // safe: an Int is an Int64
                observer.bodyEnded()
            }
            if script.value.takesTime { armDeadline() }
            run(script)
        }
    }

    private func send() {
        let inner = transport.make(attempt, observer: observer)
        source = .inner(inner)
        inner.start { result in
            self.recording?.began(result)
            guard self.recording != nil, case .success(let response) = result else { return self.finish(result) }
            var shown = AttemptResponse(
                status: response.status, reason: response.reason, version: response.version, fields: response.fields,
                body: PolledBody(self, expectedBytes: response.body.expectedBytes, of: response.body))
            shown.cache = response.cache
            self.finish(.success(shown))
        }
    }

    // MARK: the script

    private func run(_ given: PreparedScript) {
        let script = given.paced(hasBody: given.value.head?.hasBody(to: attempt.method) ?? true)
        source = .script(script, next: 0)
        let hasHead = script.value.head != nil
        wait(script.value.delay, isReal: !hasHead && script.value.failure != nil) { self.head(script) }
    }

    private func head(_ script: PreparedScript) {
        guard let head = script.value.head else { return stop(script.value.failure ?? Self.cancelled) }
        if head.status == 101, let upgrade = attempt.upgrade, let messages = script.value.messages {
            return open(upgrade, head, messages)
        }
        finish(
            .success(
                AttemptResponse(
                    status: head.status, reason: head.reason, version: head.version, fields: head.fields,
                    body: PolledBody(
                        self, expectedBytes: head.expectedBytes(to: attempt.method), trailers: script.value.trailers,
                        origin: origin))))
    }

    /// A recorded WebSocket is open.
    private func open(_ upgrade: Upgrade, _ head: AttemptScript.Head, _ messages: [ReplayMessage]) {
        let url = attempt.url.description
        let socket = PlayedSocket(
            messages, stage.mask(for: url), factor: stage.factor(for: url), for: attempt.client, on: loop)
        source = .socket(socket)
        deadline?.cancel()
        socket.wake = { [weak self] in self?.wake() }
        upgrade.owner.upgraded(socket)
        finish(
            .success(
                AttemptResponse(
                    status: 101, reason: head.reason, version: "1.1", fields: head.fields,
                    body: PolledBody(self, expectedBytes: nil))))
        socket.start()
    }

    private static func piece(of socket: PlayedSocket) -> Piece? {
        if let bytes = socket.take() { return .success(bytes) }
        if let failure = socket.failure { return .failure(failure) }
        return socket.isOver ? .success(nil) : nil
    }

    /// The next piece of a script's body, if it is due.
    private func piece(of script: PreparedScript, _ next: Int) -> Piece? {
        guard next < script.value.chunks.count else {
            if script.value.staysOpen, script.value.failure == nil { return nil }
            disarm()
            guard let failure = script.value.failure else {
                source = .ended
                return .success(nil)
            }
            source = .over(failure)
            return .failure(failure)
        }
        let chunk = script.value.chunks[next]
        guard chunk.after <= 0 || isChunkDue else {
            if alarm == nil {
                wait(chunk.after, isReal: false) {
                    self.isChunkDue = true
                    self.wake()
                }
            }
            return nil
        }
        isChunkDue = false
        source = .script(script, next: next + 1)
        given &+= chunk.bytes.count
        if let most = attempt.maximumBodyBytes, given > most {
            let failure = HTTPFailure(bodyFrom: attempt.url.host, isLongerThan: most)
            stop(failure)
            return .failure(failure)
        }
        return .success(ByteBuffer(bytes: chunk.bytes))
    }

    /// Hands the next piece over to the reader that waits for it.
    private func wake() {
        guard waiting != nil, !isHeld else { return }
        let piece: Piece? =
            switch source {
            case .script(let script, let next): piece(of: script, next)
            case .socket(let socket): Self.piece(of: socket)
            default: nil
            }
        guard let piece else { return }
        let waiting = waiting
        self.waiting = nil
        waiting?(piece)
    }

    /// Goes on after so many seconds, or fails when the attempt may not wait as long.
    ///
    /// - Parameter isReal: the script waits for a timeout of its own.
    private func wait(_ seconds: Double, isReal: Bool, _ work: @escaping @Sendable () -> Void) {
        guard seconds > 0 else { return work() }
        let phase: HTTPFailure.Phase = completion == nil ? .response : .firstByte
        let most = attempt.timeouts.seconds(of: phase)
        let isLate = seconds > most && !isReal
        alarm = loop.scheduleTask(in: .seconds(isLate ? most : seconds)) {
            self.alarm = nil
            let work = isLate ? { @Sendable in self.late(phase) } : work
            if self.isHeld { self.due = work } else { work() }
        }
    }

    private func late(_ phase: HTTPFailure.Phase) {
        stop(.staged(.timeout(phase, isReal: true), attempt))
    }
}

extension StagedAttempt: AttemptControl {
    func hold() { onLoop { self.isHeld = true } }

    func release() {
        onLoop {
            self.isHeld = false
            let due = self.due
            self.due = nil
            due?()
            self.wake()
        }
    }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }
}
