// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Carries an attempt with an upgrade request, on a connection of its own outside the pool.
///
///     created ──▶ queued ──▶ opening ──▶ handshaking ──101──▶ open ──finish──▶ lingering ──▶ done
///                                          └──other──▶ refused ──────────────────────▶ done
///
/// After a 101 the body of the response is the connection's bytes, read on demand. Another final response is delivered
/// with its body, and the connection is not used again.
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class UpgradeRunner: LoopAttempt, @unchecked Sendable {
    enum Stage { case created, queued, opening, handshaking, open, refused, lingering, done }

    /// Limit of bytes that are dropped while the connection lingers; then the connection closes.
    private static let mostDropped = 1 << 20

    let attempt: Attempt
    let upgrade: Upgrade
    let key: PoolKey
    /// Why the connection cannot be opened at all.
    private let refusal: HTTPFailure?
    /// The server whose handshakes are serialised; nil unless this handshake waits or is in progress.
    var handshake: HandshakeQueue.Key?
    var isQueued = false
    let pool: ConnectionPool
    let wiring: Wiring
    let observer: any AttemptObserver
    var opening: ConnectionOpening?
    var waiting: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    var connection: UpgradedConnection?
    private var reader = ResponseReader()
    private var informationalHeads = 0
    /// Whether the body of a response other than 101 ends with its connection.
    private var endsWithConnection = false
    private var sent = HTTPFailure.Sent.notSent
    var isReadPaused = false
    var isHeld = false
    /// The request waits for the end of a hold.
    private var isUnsent = false
    private var dropped = 0
    private var isReadOver = false
    private(set) var stage = Stage.created
    var clock: AttemptClock
    var body: BodyQueue
    var deadlineIndex = 0

    init(_ attempt: Attempt, _ upgrade: Upgrade, observer: any AttemptObserver, pool: ConnectionPool, wiring: Wiring) {
        self.attempt = attempt
        self.upgrade = upgrade
        self.observer = observer
        self.pool = pool
        self.wiring = wiring
        (key, refusal) = PoolKey.of(attempt, version: .http11)
        clock = AttemptClock(attempt.timeouts)
        body = BodyQueue(host: attempt.url.host, mostBytes: attempt.maximumBodyBytes)
    }

    var host: String { attempt.url.host }
    var peer: String { host }
    var isOpening: Bool { stage == .opening }

    // MARK: calls from the exchange

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        pool.loop.assertInEventLoop()
        waiting = completion
        guard stage == .created else { return resume(.failure(.cancelled(sent))) }
        if let refusal { return end(refusal) }
        pool.deadlines.watch(self)
        let handshake = HandshakeQueue.Key(attempt, key.connectTo?.applied(to: attempt.url) ?? attempt.url)
        self.handshake = handshake
        if pool.handshakes.enter(self, handshake) { return openNow() }
        stage = .queued
        isQueued = true
        observer.waiting(self)
        observer.queued()
    }

    func openNow() {
        stage = .opening
        open()
    }

    func begin(_ connection: UpgradedConnection, _ security: DuplexSecurity?) {
        guard adopt(connection) else { return }
        stage = .handshaking
        clock.enter(.request)
        observer.sending(self)
        clock.note(remote: key.socketPath ?? connection.channel.remoteAddress?.plain, tls: security?.facts)
        observer.connected(clock.timeline)
        connection.start(self)
        if isHeld { isUnsent = true } else { write() }
    }

    private func write() {
        isUnsent = false
        do throws(HTTPFailure) {
            let bytes = try RequestWriter.head(attempt)
            sent = .maybeSent
            clock.sent(bytes.readableBytes)
            connection?.write(bytes)
            clock.enter(.firstByte)
            pool.deadlines.movedUp(self)
        } catch {
            end(error)
        }
    }

    func cancel() {
        pool.loop.assertInEventLoop()
        end(.cancelled(sent))
    }

    /// The next piece of the body; nil if the caller must wait.
    func tryNext() -> Result<ByteBuffer?, HTTPFailure>? { takeNext() }

    func poll(_ completion: @escaping BodyQueue.Hand) -> Result<ByteBuffer?, HTTPFailure>? {
        if let ready = tryNext() { return ready }
        body.wait(completion)
        readMore()
        return nil
    }

    // MARK: ends

    /// Ends the body without an error.
    private func endBody() {
        guard stage == .open || stage == .refused else { return }
        stage = .done
        letGo()
        body.end([])
        deliver()
    }

    func end(_ failure: HTTPFailure) {
        // a closing connection is left alone
        guard stage != .done, stage != .lingering else { return }
        stage = .done
        var failure = failure
        if failure.sent == .notSent { failure.sent = sent }
        letGo()
        if waiting != nil { observer.gaveUp(clock.snapshot) }
        let hand = body.fail(failure)
        resume(.failure(failure))
        hand?(.failure(failure))
    }

    private func letGo() {
        leaveQueue()
        dropConnection()
    }

    /// Delivers received bytes to the waiting reader.
    private func deliver() {
        guard let hand = body.takeWaiting() else { return }
        guard let ready = tryNext() else { return body.wait(hand) }
        hand(ready)
    }

    // MARK: the head

    private func readHead(_ bytes: ByteBuffer) {
        sent = .sent
        clock.headBegins()
        read(bytes)
        pool.deadlines.movedUp(self)
    }

    private func read(_ bytes: ByteBuffer) {
        var rest = bytes
        do {
            while let part = try nextPart(&rest) {
                switch part {
                case .head(let found): try take(found, before: rest)
                case .body(let range):
                    let start = bytes.writerIndex - rest.readableBytes - range.count
                    if let piece = bytes.getSlice(at: start, length: range.count) { body.append(piece) }
                case .end: return endBody()
                }
            }
            if stage == .refused { deliver() }
        } catch {
            end(FailureBridge.exchange(error, with: host, phase: clock.phase))
        }
    }

    private func nextPart(_ rest: inout ByteBuffer) throws -> ResponseReader.Part? {
        guard stage == .handshaking || stage == .refused else { return nil }
        var position = 0
        let part = try rest.withUnsafeReadableBytes { try reader.next($0, from: &position) }
        rest.moveReaderIndex(forwardBy: position)
        return part
    }

    private func take(_ found: ResponseHead, before rest: ByteBuffer) throws(HTTPFailure) {
        guard found.version.major == 1 else {
            throw HTTPFailure(
                .malformedResponse, "the server did not respond in HTTP/1.1", phase: .firstByte, sent: .sent)
        }
        if found.status == 101 {
            switchOver(found, rest)
        } else if found.status < 200 {
            informationalHeads += 1
            guard informationalHeads <= HTTP1Limits.informational else { throw .tooManyInformational }
            clock.informed()
            observer.informational(found)
        } else {
            try refuse(found)
        }
    }

    private func respond(_ head: ResponseHead) {
        leaveQueue()
        clock.headEnds()
        clock.enter(.response)
        clock.pause()
        resume(
            .success(
                AttemptResponse(
                    status: head.status, reason: head.reason, version: head.version.description, fields: head.fields,
                    body: ResponseBody(self, expectedBytes: body.expectedBytes))))
    }

    private func switchOver(_ found: ResponseHead, _ rest: ByteBuffer) {
        stage = .open
        body.begin(found, .untilClose, decodes: false)
        // an open connection may be silent for as long as its protocol allows
        pool.deadlines.forget(self)
        if rest.readableBytes > 0 { body.append(rest) }
        // a write that completes then shows that the server takes bytes
        connection?.channel.limitUnsentBytes()
        upgrade.owner.upgraded(self)
        respond(found)
    }

    private func refuse(_ found: ResponseHead) throws(HTTPFailure) {
        let framing = try BodyFraming.of(found, to: attempt.method).0
        stage = .refused
        body.begin(found, framing, decodes: attempt.decodesContent)
        endsWithConnection = framing == .untilClose
        reader.begin(framing)
        respond(found)
    }
}

extension UpgradeRunner: UpgradedConnectionUser {
    func received(_ bytes: ByteBuffer) {
        clock.received(bytes.readableBytes)
        switch stage {
        case .handshaking: readHead(bytes)
        case .open:
            body.append(bytes)
            deliver()
        case .refused: read(bytes)
        case .lingering:
            dropped &+= bytes.readableBytes
            if dropped > Self.mostDropped { closeLingering() }
        case .created, .queued, .opening, .done: break
        }
    }

    func wantsMore() -> Bool {
        guard stage != .lingering, stage != .handshaking else { return true }
        isReadPaused = isHeld || !body.hasRoom
        return !isReadPaused
    }

    func readEnded() { ended(nil) }

    func ended(_ error: (any Error)?) {
        switch stage {
        case .lingering: closeLingering()
        case .open, .refused:
            if let error, !error.isUncleanShutdown {
                var failure = FailureBridge.exchange(error, with: host, phase: .response)
                failure.sent = .sent
                return end(failure)
            }
            if stage == .open { return endReading() }
            guard endsWithConnection else { return end(lost("in the body of its response")) }
            endBody()
        default: end(lost("before the head of its response was complete", error))
        }
    }

    /// The server has ended its output. The connection stays open for pending writes, until the owner finishes.
    private func endReading() {
        isReadOver = true
        body.end([])
        deliver()
    }

    private func lost(_ when: String, _ error: (any Error)? = nil) -> HTTPFailure {
        let underlying = error.map(FailureBridge.underlying)
        let cause = underlying.map { ": \($0.message)" } ?? ""
        return HTTPFailure(
            .connectionLost, "\(FailureBridge.ended(host, error)) \(when)\(cause)", phase: clock.phase, sent: sent,
            underlying: underlying)
    }
}

extension UpgradeRunner: UpgradeLink {
    func onLoop(_ work: @escaping @Sendable () -> Void) {
        if pool.loop.inEventLoop { work() } else { pool.loop.execute(work) }
    }

    func soon(_ work: @escaping @Sendable () -> Void) { pool.loop.execute(work) }

    func write(_ bytes: [UInt8], _ completion: @escaping @Sendable (Bool) -> Void) {
        guard let connection, stage == .open || stage == .lingering else { return completion(false) }
        clock.sent(bytes.count)
        connection.write(ByteBuffer(bytes: bytes), completion)
    }

    func finish(within seconds: Double) {
        onLoop {
            guard self.stage == .open else { return }
            self.stage = .lingering
            self.clock.end()
            self.body.end([])
            self.deliver()
            guard let connection = self.connection else { return }
            if self.isReadOver, connection.unsentBytes == 0 { return self.closeLingering() }
            connection.read()
            self.pool.loop.assumeIsolated().scheduleTask(in: .seconds(seconds)) { self.closeLingering() }
        }
    }

    func shortenReads() { connection?.shortenReads() }

    private func closeLingering() {
        guard stage == .lingering else { return }
        stage = .done
        letGo()
    }
}

extension UpgradeRunner: UpgradedRunner {
    var isOver: Bool { stage == .done }

    func holdBegan() {
        // a suspended handshake does not delay others
        if !isQueued { leaveQueue() }
    }

    func holdEnded() {
        guard !isOver else { return }
        if stage != .open, stage != .lingering { pool.deadlines.movedUp(self) }
        if isUnsent { write() }
        if isReadPaused, body.hasRoom { readMore() }
    }
}
