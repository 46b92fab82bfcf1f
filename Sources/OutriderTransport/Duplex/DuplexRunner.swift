// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Carries a TCP stream: opens its connection, delivers received bytes as the body of a response, and sends the bytes
/// of its feed.
///
///     created ──▶ opening ──▶ open ──▶ done
///
/// The body ends when both directions have ended. The owner learns separately when only reading has ended, after all
/// received bytes were delivered.
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class DuplexRunner: LoopAttempt, @unchecked Sendable {
    enum Stage { case created, opening, open, done }

    let attempt: Attempt
    let duplex: Duplex
    let key: PoolKey
    /// Why the stream cannot be opened at all.
    private let refusal: HTTPFailure?
    let pool: ConnectionPool
    let wiring: Wiring
    let observer: any AttemptObserver
    var opening: ConnectionOpening?
    var waiting: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    var isReadPaused = false
    var stage = Stage.created
    var clock: AttemptClock
    var connection: UpgradedConnection?
    var writer: DuplexWriter?
    var body: BodyQueue
    var isHeld = false
    /// The peer has ended its output, or the client has closed its reading half.
    var isReadOver = false
    private var isReadEndTold = false
    /// Received bytes are dropped.
    var isReadClosed = false
    var isWriteOver = false
    /// Received bytes, without dropped bytes.
    var received = 0
    var upgrade: TLSUpgrade?
    var deadlineIndex = 0

    init(_ attempt: Attempt, _ duplex: Duplex, observer: any AttemptObserver, pool: ConnectionPool, wiring: Wiring) {
        self.attempt = attempt
        self.duplex = duplex
        self.observer = observer
        self.pool = pool
        self.wiring = wiring
        (key, refusal) = PoolKey.of(attempt, version: .http11)
        clock = AttemptClock(attempt.timeouts)
        body = BodyQueue(host: attempt.url.host, mostBytes: attempt.maximumBodyBytes)
    }

    var isOpening: Bool { stage == .opening }

    var peer: String { attempt.url.socketPath ?? attempt.url.authorityWithPort }

    // MARK: calls from the exchange

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        pool.loop.assertInEventLoop()
        waiting = completion
        guard stage == .created else { return resume(.failure(.cancelled(.notSent))) }
        if let refusal { return end(refusal) }
        stage = .opening
        pool.deadlines.watch(self)
        open()
    }

    func begin(_ connection: UpgradedConnection, _ security: DuplexSecurity?) {
        guard adopt(connection) else { return }
        stage = .open
        clock.enter(.request)
        observer.sending(self)
        let remote = key.socketPath ?? connection.channel.remoteAddress?.plain
        clock.note(remote: remote, tls: security?.facts)
        clock.enter(.firstByte)
        clock.headEnds()
        clock.enter(.response)
        clock.pause()
        observer.connected(clock.timeline)
        duplex.owner.opened(self, clock.snapshot, security)
        // the owner may have cancelled the stream
        guard stage == .open else { return }
        let response = AttemptResponse(
            status: 200, reason: "", version: "1.1", fields: [], body: ResponseBody(self, expectedBytes: nil))
        resume(.success(response))
        connection.start(self)
        let writer = DuplexWriter(duplex.feed, to: connection)
        self.writer = writer
        if isHeld { writer.hold() }
        writer.start { self.wrote($0) }
    }

    func cancel() {
        pool.loop.assertInEventLoop()
        let failure = HTTPFailure.cancelled(.sent)
        end(failure)
        // if both directions ended during a hold, the reader still waits for that end
        body.takeWaiting()?(.failure(failure))
    }

    /// The next bytes; nil if they are not there yet.
    func tryNext() -> Result<ByteBuffer?, HTTPFailure>? {
        if isHeld, stage == .open { return nil }
        let ready = takeNext()
        if ready == nil { tellReadEnd() }
        return ready
    }

    func poll(_ completion: @escaping BodyQueue.Hand) -> Result<ByteBuffer?, HTTPFailure>? {
        if let ready = tryNext() { return ready }
        body.wait(completion)
        // after the end no bytes are expected
        if !isReadOver, !isReadClosed { moved() }
        readMore()
        return nil
    }

    private func moved() {
        clock.moved()
        pool.deadlines.movedUp(self)
    }

    /// Tells the owner that reading has ended, after all received bytes were delivered.
    private func tellReadEnd() {
        guard isReadOver || isReadClosed, !isReadEndTold else { return }
        isReadEndTold = true
        clock.pause()
        duplex.owner.readEnded()
    }

    // MARK: ends

    /// Both directions have ended.
    func endInOrder() {
        guard stage == .open else { return }
        stage = .done
        letGo()
        body.end([])
        deliver()
    }

    func end(_ failure: HTTPFailure) {
        guard stage != .done else { return }
        stage = .done
        letGo()
        if waiting != nil { observer.gaveUp(clock.snapshot) }
        let hand = body.fail(failure)
        upgrade?.completion(.failure(failure))
        upgrade = nil
        resume(.failure(failure))
        hand?(.failure(failure))
    }

    private func letGo() {
        writer?.stop()
        writer = nil
        // before the connection is open another attempt may use the feed
        if connection != nil { duplex.feed.drop() }
        dropConnection()
    }

    // MARK: writing

    private func wrote(_ step: DuplexWriter.Step) {
        switch step {
        case .sent(let bytes):
            clock.sent(bytes)
            // bytes in either direction show that the peer is there
            if body.isAwaited, !isHeld, !isReadOver, !isReadClosed { moved() }
            secureIfReady()
        case .rested: secureIfReady()
        case .finished:
            isWriteOver = true
            duplex.owner.writeEnded()
            let isOver = isReadOver || isReadClosed
            connection?.finish()
            if isOver { endInOrder() }
        case .failed(let failure): end(failure)
        }
    }

    // MARK: reading

    /// Delivers received bytes to the waiting reader.
    func deliver() {
        guard !isHeld, let hand = body.takeWaiting() else { return }
        guard let ready = tryNext() else { return body.wait(hand) }
        clock.pause()
        hand(ready)
    }
}

extension DuplexRunner: UpgradedConnectionUser {
    func received(_ bytes: ByteBuffer) {
        clock.received(bytes.readableBytes)
        if isReadClosed { return }
        received &+= bytes.readableBytes
        if body.isAwaited { clock.moved() }
        body.append(bytes)
        deliver()
    }

    func wantsMore() -> Bool {
        isReadPaused = isHeld || !(body.hasRoom || isReadClosed)
        return !isReadPaused
    }

    func readEnded() {
        isReadOver = true
        if isWriteOver { endInOrder() } else { deliver() }
    }

    func ended(_ error: (any Error)?) {
        // after our own end, the end of the peer ends the connection
        if isWriteOver, isReadOver || error == nil { return endInOrder() }
        // the peer of a Unix socket ends both directions when it closes; an error says that bytes of ours were not read
        if key.socketPath != nil, isReadOver, error == nil, !isHeld, upgrade == nil, writer?.hasLost == false {
            return endInOrder()
        }
        guard let error else {
            return end(HTTPFailure(.connectionLost, "\(peer) closed the connection", phase: .response, sent: .sent))
        }
        var failure = FailureBridge.exchange(error, with: peer, phase: .response)
        failure.sent = .sent
        end(failure)
    }
}

extension DuplexRunner: UpgradedRunner {
    var isOver: Bool { stage == .done }

    func holdBegan() { writer?.hold() }

    func holdEnded() {
        guard !isOver else { return deliver() }
        pool.deadlines.movedUp(self)
        writer?.release()
        if isReadPaused, body.hasRoom { readMore() }
        deliver()
    }

    var deadline: NIODeadline { clock.deadline }

    func deadlinePassed(_ now: NIODeadline) {
        end(clock.failure(now, host: peer, limit: attempt.mostConnections))
    }
}
