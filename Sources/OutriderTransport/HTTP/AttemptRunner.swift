// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// Carries one attempt from its wait for a connection to the last byte of its answer.
///
///     queued ──▶ opening ──▶ sending ──▶ answering ──▶ done
///       └──── a connection is lent ──▲       (the body is pulled)
///
/// Every end goes through `end`, which tells whoever waits, once.
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class AttemptRunner: LoopAttempt, @unchecked Sendable {
    private enum Stage { case created, queued, opening, sending, answering, done }

    let attempt: Attempt
    let key: PoolKey
    let pool: ConnectionPool
    private let observer: any AttemptObserver
    private let wiring: Wiring
    private(set) var clock: AttemptClock
    private var stage = Stage.created
    private var waiting: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    private var ticket: PoolMachine.WaiterID?
    private var opening: ConnectionOpening?
    private var connection: HTTP1Connection?
    private var writer: BodyWriter?
    private var replayedBefore = false
    private var expectation: Expectation
    private var sent = HTTPFailure.Sent.notSent
    private(set) var body: BodyQueue
    private var isReadPaused = false
    private var isHeld = false
    /// A connection that is here, and is not written to before the end of a hold.
    private var heldConnection: HTTP1Connection?
    let published = Mutex(AttemptReadings())
    var deadlineIndex = 0

    init(_ attempt: Attempt, observer: any AttemptObserver, pool: ConnectionPool, wiring: Wiring) {
        self.attempt = attempt
        self.observer = observer
        self.pool = pool
        self.wiring = wiring
        key = PoolKey(
            attempt.url, trust: attempt.trust, proxy: attempt.route, addresses: attempt.addresses)
        clock = AttemptClock(attempt.timeouts)
        expectation = Expectation(attempt)
        body = BodyQueue(host: attempt.url.host, mostBytes: attempt.maximumBodyBytes)
    }

    private var host: String { attempt.url.host }

    /// Who is waited for: the proxy, until it has opened the way.
    private var place: String {
        guard let proxy = key.proxy?.server else { return host }
        switch clock.phase {
        case .resolve, .connect, .proxy: return "the proxy \(proxy.name)"
        default: return host
        }
    }

    // MARK: what the caller wants

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        pool.loop.assertInEventLoop()
        waiting = completion
        // it may have been cancelled already
        guard stage == .created else { return resume(.failure(.cancelled(sent))) }
        stage = .queued
        pool.deadlines.watch(self)
        pool.closeOutdated(key, wiring.tls)
        ticket = pool.ask(self)
        if ticket != nil { observer.queued() }
    }

    func cancel() {
        pool.loop.assertInEventLoop()
        end(.cancelled(sent))
    }

    /// The next piece of the body; nil if it must be waited for.
    func tryNext() -> Result<ByteBuffer?, HTTPFailure>? {
        pool.loop.assertInEventLoop()
        switch body.next() {
        case .piece(let piece):
            clock.decoded(piece.readableBytes)
            if isReadPaused, !isHeld, body.hasRoom { readMore() }
            return .success(piece)
        case .end:
            publish()
            return .success(nil)
        case .failed(let failure):
            if stage != .done { end(failure) }
            return .failure(failure)
        case .wait:
            return nil
        }
    }

    /// The same, handed over if it must be waited for.
    func poll(_ completion: @escaping BodyQueue.Hand) -> Result<ByteBuffer?, HTTPFailure>? {
        if let ready = tryNext() { return ready }
        body.wait(completion)
        moved()
        readMore()
        return nil
    }

    /// Nobody wants the rest.
    func abandon() {
        pool.loop.assertInEventLoop()
        if stage != .done { end(.cancelled(sent)) }
    }

    private func moved() {
        clock.moved()
        pool.deadlines.movedUp(self)
    }

    private func readMore() {
        isReadPaused = isHeld
        if isHeld { return }
        connection?.readMore()
    }

    // MARK: ends

    private func end(_ failure: HTTPFailure) {
        guard stage != .done else { return }
        let last = stage
        stage = .done
        var failure = failure
        if failure.sent == .notSent { failure.sent = sent }
        clock.end()
        publish()
        if waiting != nil { observer.gaveUp(clock.snapshot) }
        pool.deadlines.forget(self)
        if let ticket { pool.cancel(ticket, of: key) }
        ticket = nil
        let holdsPlace = opening != nil || connection != nil
        opening?.cancel()
        opening = nil
        letGo(close: true)
        let hand = body.fail(failure)
        if last != .created, holdsPlace { pool.ended(of: key) }
        resume(.failure(failure))
        hand?(.failure(failure))
    }

    private func letGo(close: Bool) {
        stopSending()
        if close { connection?.close() }
        connection = nil
        heldConnection = nil
    }

    private func stopSending() {
        expectation.end()
        writer?.stop()
        writer = nil
    }

    private func resume(_ result: Result<AttemptResponse, HTTPFailure>) {
        guard let waiting else { return }
        self.waiting = nil
        waiting(result)
    }
}

// MARK: what the pool says

extension AttemptRunner: PoolWaiter {
    var connectionsPerHost: Int { attempt.connectionsPerHost }

    func openConnection() {
        ticket = nil
        // the place was given to us although we had ended: give it on
        guard stage == .queued || stage == .sending else { return pool.ended(of: key) }
        stage = .opening
        let opening = ConnectionOpening(attempt, key: key, pool: pool, wiring: wiring)
        self.opening = opening
        opening.start { step in
            switch step {
            case .waits:
                self.clock.awaitConnection()
                self.pool.deadlines.movedUp(self)
            case .began(let phase):
                self.clock.enter(phase)
                self.observer.connecting(phase)
                self.pool.deadlines.movedUp(self)
            case .opened(let connection):
                self.opening = nil
                self.carry(on: connection)
            case .failed(let failure): self.end(failure)
            }
        }
    }

    func carry(on connection: HTTP1Connection) {
        ticket = nil
        guard stage == .queued || stage == .opening else { return pool.takeBack(connection) }
        stage = .sending
        self.connection = connection
        clock.enter(.request)
        observer.sending(self)
        if isHeld { heldConnection = connection } else { write(to: connection) }
    }

    private func write(to connection: HTTP1Connection) {
        do throws(HTTPFailure) {
            let bytes = try RequestWriter.head(attempt, expects: expectation.isDeclared)
            sent = .maybeSent
            // it died just now: as if it had been lent and then died
            guard connection.begin(self, method: attempt.method, bytes: bytes) else {
                return broke(.beforeAnswer(replayable: true), nil)
            }
            clock.note(connection)
            observer.connected(clock.timeline)
            clock.sent(bytes.readableBytes)
        } catch {
            return end(error)
        }
        pool.deadlines.movedUp(self)
        guard expectation.isDeclared else { return sendBody(on: connection) }
        expectation.wait(on: pool.loop) { self.goOn() }
    }

    func refused(_ failure: HTTPFailure) { end(failure) }

    private func sendBody(on connection: HTTP1Connection) {
        if case .none = attempt.body { return requestSent() }
        guard let writer = BodyWriter(attempt.body, all: expectation.isDeclared, to: connection, for: attempt.client)
        else {
            if case .bytes(let bytes) = attempt.body { observer.bodySent(Int64(bytes.count), onWire: nil) }
            return requestSent()
        }
        self.writer = writer
        if isHeld { writer.hold() }
        writer.start { step in
            switch step {
            case .sent(let bytes, let inAll, let onWire):
                self.clock.sent(bytes)
                if self.stage == .sending { self.moved() }
                self.observer.bodySent(inAll, onWire: onWire)
            case .finished:
                self.writer = nil
                self.observer.bodyEnded()
                self.requestSent()
            case .failed(let failure):
                self.end(failure)
            }
        }
    }

    /// Sends the body that was held back.
    private func goOn() {
        guard stage == .sending, let connection, expectation.end() else { return }
        sendBody(on: connection)
    }

    private func sendAgain() {
        letGo(close: true)
        sent = .notSent
        clock.startAgain()
        openConnection()
    }

    private func requestSent() {
        connection?.requestSent()
        guard stage == .sending, clock.phase == .request else { return }
        clock.enter(.firstByte)
        pool.deadlines.movedUp(self)
    }
}

// MARK: what the connection says

extension AttemptRunner: ConnectionUser {
    func wantsMore() -> Bool {
        isReadPaused = isHeld || (stage != .sending && !body.hasRoom)
        return !isReadPaused
    }

    func heard(_ bytes: Int) {
        sent = .sent
        clock.received(bytes)
        if stage == .sending { clock.headBegins() }
        switch clock.phase {
        // the response to a request that is still being sent: its phase goes on
        case .request where writer != nil || expectation.isWaiting: break
        case .request, .firstByte: clock.enter(.response)
        default: if stage == .sending || body.isAwaited { clock.moved() }
        }
        pool.deadlines.movedUp(self)
    }

    func informational(_ head: ResponseHead) {
        clock.informed()
        observer.informational(status: head.status, fields: head.fields)
        if head.status == 100 { goOn() }
    }

    func answered(_ head: ResponseHead, _ framing: BodyFraming, stopSending: Bool) {
        guard stage == .sending else { return }
        if head.status == 417, expectation.isDeclared, writer?.hasBegun != true {
            expectation.refuse()
            return sendAgain()
        }
        stage = .answering
        sent = .sent
        if stopSending || expectation.isWaiting { self.stopSending() }
        clock.headEnds()
        clock.enter(.response)
        clock.pause()
        body.begin(head, framing, decodes: attempt.decodesContent)
        if let failure = body.isTooLong { return end(failure) }
        publish()
        let response = AttemptResponse(
            status: head.status, reason: head.reason, version: head.version.description, fields: head.fields,
            body: ResponseBody(self, expectedBytes: body.expectedBytes))
        resume(.success(response))
    }

    func bodyCame(_ bytes: ByteBuffer) {
        body.append(bytes)
        deliver()
    }

    func ended(trailers: HTTPFields) {
        guard stage == .answering else { return }
        stage = .done
        clock.end()
        pool.deadlines.forget(self)
        letGo(close: false)
        body.end(trailers)
        publish()
        deliver()
    }

    /// Hands what came to whoever waits for it.
    private func deliver() {
        guard let hand = body.takeWaiting() else { return }
        guard let ready = tryNext() else {
            moved()
            return body.wait(hand)
        }
        clock.pause()
        hand(ready)
    }

    func broke(_ close: HTTP1Machine.Close, _ error: (any Error)?) {
        guard stage != .done else { return }
        if case .beforeAnswer(true) = close, mayReplay {
            replayedBefore = true
            return sendAgain()
        }
        end(Breakage(close, error, host: host, phase: clock.phase, body: body.progress).failure)
    }

    private var mayReplay: Bool {
        Replay.isAllowed(
            method: attempt.method, wasReused: true, answerBegan: stage != .sending,
            fileBodyBegan: writer?.hasBegun ?? false, replayedBefore: replayedBefore)
    }
}

extension AttemptRunner: Timed {
    var deadline: NIODeadline { clock.deadline }

    func deadlinePassed(_ now: NIODeadline) {
        end(clock.failure(now, host: place, limit: attempt.connectionsPerHost))
    }
}

extension AttemptRunner: AttemptControl {
    func hold() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.hold() } }
        guard stage != .done, !isHeld else { return }
        isHeld = true
        clock.freeze()
        writer?.hold()
    }

    func release() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.release() } }
        guard isHeld else { return }
        isHeld = false
        clock.thaw()
        guard stage != .done else { return }
        pool.deadlines.movedUp(self)
        if let connection = heldConnection {
            heldConnection = nil
            return write(to: connection)
        }
        writer?.release()
        if isReadPaused, stage == .sending || body.hasRoom { readMore() }
    }
}
