// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// Carries an attempt from its wait for a connection to the last byte of the response.
///
///     queued ──▶ opening ──▶ sending ──▶ receiving ──▶ done
///       └──── a connection is lent ──▲       (the body is pulled)
///
/// Every end goes through `end`, which completes the waiting caller once.
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class AttemptRunner: LoopAttempt, @unchecked Sendable {
    enum Stage { case created, queued, opening, sending, receiving, done }

    private(set) var attempt: Attempt
    private(set) var key: PoolKey
    let pool: ConnectionPool
    let observer: any AttemptObserver
    private let wiring: Wiring
    var clock: AttemptClock
    /// Why the attempt cannot be sent at all.
    private let refusal: HTTPFailure?
    private(set) var stage = Stage.created
    private var waiting: ((Result<AttemptResponse, HTTPFailure>) -> Void)?
    private var ticket: PoolMachine.WaiterID?
    private var opening: ConnectionOpening?
    /// The connection with a slot for the attempt, until the end of the stream.
    private(set) var connection: (any AttemptConnection)?
    private(set) var stream: (any AttemptStream)?
    /// Bytes of a sent body that the server had not received when it was looked at last.
    var unreceived = 0
    /// When to look again how much of the body the server has received.
    var looksAt = NIODeadline.distantFuture
    private(set) var writer: BodyWriter?
    private var replays = AttemptReplays()
    var expectation: Expectation
    /// The body cannot be read. It is paused, and perhaps not needed.
    private(set) var bodyFailure: HTTPFailure?
    private var sent = HTTPFailure.Sent.notSent
    private(set) var body: BodyQueue
    var isHeld = false
    /// There is a connection, but nothing is written until the hold ends.
    var isBeginHeld = false
    let published = Mutex(AttemptMetrics())
    var deadlineIndex = 0

    init(_ attempt: Attempt, observer: any AttemptObserver, pool: ConnectionPool, wiring: Wiring) {
        self.attempt = attempt
        self.observer = observer
        self.pool = pool
        self.wiring = wiring
        (key, refusal) = pool.key(of: attempt)
        clock = AttemptClock(attempt.timeouts)
        expectation = Expectation(attempt)
        body = BodyQueue(host: attempt.url.host, mostBytes: attempt.maximumBodyBytes)
    }

    // MARK: calls from the exchange

    func start(_ completion: @escaping (Result<AttemptResponse, HTTPFailure>) -> Void) {
        pool.loop.assertInEventLoop()
        waiting = completion
        guard stage == .created else { return resume(.failure(.cancelled(sent))) }
        if let refusal { return end(refusal) }
        stage = .queued
        pool.deadlines.watch(self)
        if key.version == .auto, pool.isKnownToNeedHTTP11(key) { key.version = .http11 }
        if pool.mustLook(key) { return pool.look(key, wiring.tls, for: attempt.client) { self.askFirst() } }
        askFirst()
    }

    private func askFirst() {
        guard stage == .queued else { return }
        ask()
        if stage == .queued || stage == .opening { observer.waiting(self) }
        if ticket != nil { observer.queued() }
    }

    func cancel() {
        pool.loop.assertInEventLoop()
        end(.cancelled(sent))
    }

    /// The next piece of the body; nil if the piece is not there yet.
    func tryNext() -> Result<ByteBuffer?, HTTPFailure>? {
        pool.loop.assertInEventLoop()
        switch body.next() {
        case .piece(let piece):
            clock.decoded(piece.readableBytes)
            readMore()
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

    /// The next piece; if not there yet, the piece goes to `completion` later.
    func poll(_ completion: @escaping BodyQueue.Hand) -> Result<ByteBuffer?, HTTPFailure>? {
        if let ready = tryNext() { return ready }
        body.wait(completion)
        moved()
        readMore()
        return nil
    }

    /// The rest of the body is not needed.
    func abandon() {
        pool.loop.assertInEventLoop()
        if stage != .done { end(.cancelled(sent)) }
    }

    private func moved() {
        clock.moved()
        pool.deadlines.movedUp(self)
    }

    /// Lets as much of the body come as the reader has consumed.
    func readMore() {
        guard !isHeld else { return }
        stream?.consumed(body.takeConsumed())
    }

    // MARK: ends

    func end(_ failure: HTTPFailure, openingFailed: Bool = false) {
        guard stage != .done else { return }
        stage = .done
        var failure = failure
        if failure.sent == .notSent { failure.sent = sent }
        clock.end()
        publish()
        if waiting != nil { observer.gaveUp(clock.snapshot) }
        pool.deadlines.forget(self)
        if let ticket { pool.cancel(ticket, of: key) }
        ticket = nil
        if let opening {
            opening.cancel()
            pool.openingEnded(of: key, by: holder, failed: openingFailed)
        }
        opening = nil
        letGo()
        let hand = body.fail(failure)
        if let hand { hand(.failure(failure)) } else if waiting == nil { observer.endedUnread(failure) }
        resume(.failure(failure))
    }

    /// Gives up the stream, or the slot for a stream.
    private func letGo() {
        stopSending()
        let (stream, connection) = (stream, connection)
        (self.stream, self.connection, isBeginHeld) = (nil, nil, false)
        if let stream { stream.cancel() } else { connection?.decline() }
    }

    func stopSending() {
        expectation.end()
        writer?.stop()
        (writer, bodyFailure) = (nil, nil)
    }

    private func resume(_ result: Result<AttemptResponse, HTTPFailure>) {
        guard let waiting else { return }
        self.waiting = nil
        waiting(result)
    }
}

// MARK: calls from the pool

extension AttemptRunner: PoolWaiter {
    var connectionsPerHost: Int { attempt.connectionsPerHost }
    var holder: PoolHolder { attempt.holder }

    func openConnection() {
        ticket = nil
        // the attempt has ended in the meantime: pass the place on
        guard stage == .queued else { return pool.openingEnded(of: key, by: holder, failed: false) }
        stage = .opening
        let opening = ConnectionOpening(attempt, key: key, pool: pool, wiring: wiring)
        self.opening = opening
        opening.start { step in
            switch step {
            case .waits:
                self.clock.awaitConnection()
                self.pool.deadlines.movedUp(self)
                self.pool.openingWaits(of: self.key)
            case .callbackRuns(let isCallbackRunning): self.callbackRuns(isCallbackRunning)
            case .began(let phase):
                self.clock.enter(phase)
                self.observer.connecting(phase)
                self.pool.deadlines.movedUp(self)
            case .opened(let connection):
                self.opening = nil
                self.carry(on: connection)
            // only for streams
            case .bare(let channel, let place, _):
                place.giveBack()
                channel.close(promise: nil)
            case .failed(let failure): self.end(failure, openingFailed: true)
            }
        }
    }

    func carry(on connection: any AttemptConnection) {
        ticket = nil
        guard stage == .queued || stage == .opening else { return connection.decline() }
        stage = .sending
        self.connection = connection
        clock.enter(.request)
        observer.sending(self)
        if isHeld { isBeginHeld = true } else { begin() }
    }

    /// Begins the request on the connection.
    func begin() {
        guard let connection else { return }
        do throws(HTTPFailure) {
            sent = .maybeSent
            guard let begun = try connection.begin(attempt, expects: expectation.isDeclared, for: self) else {
                // the connection died just now: nothing was sent
                (sent, self.connection) = (.notSent, nil)
                return replays.mayReplay(on: connection) ? sendAgain() : ended(.beforeResponse(replayable: false), nil)
            }
            // the connection died of the first bytes: the attempt is over, or on another connection
            guard self.connection === connection else { return }
            stream = begun.stream
            clock.note(begun, connection.facts, on: connection.id)
            observer.connected(clock.timeline)
            clock.sent(begun.bytes)
        } catch {
            sent = .notSent
            return end(error)
        }
        pool.deadlines.movedUp(self)
        guard expectation.isDeclared else { return sendBody() }
        expectation.wait(Expectation.patience, on: pool.loop) { self.goOn() }
    }

    func refused(_ failure: HTTPFailure) { end(failure) }

    func sendBody() {
        if case .none = attempt.body { return requestSent() }
        guard let stream,
            let writer = BodyWriter(of: attempt, all: expectation.isDeclared, to: stream, on: pool.loop)
        else {
            if case .bytes(let bytes) = attempt.body { observer.bodySent(Int64(bytes.count), onWire: nil) }
            return requestSent()
        }
        self.writer = writer
        replays.bodyBegins(writer)
        watchBody()
        if isHeld { writer.hold() }
        writer.start { step in
            switch step {
            case .sent(let bytes, let inAll, let onWire):
                self.clock.sent(bytes)
                if self.stage == .sending || self.body.isAwaited { self.moved() }
                self.observer.bodySent(inAll, onWire: onWire)
            case .finished:
                (self.writer, self.unreceived) = (nil, self.stream?.unsent ?? 0)
                self.observer.bodyEnded()
                self.requestSent()
            case .failed(let failure) where self.stage == .receiving && self.expectation.isWaiting:
                (self.writer, self.bodyFailure) = (nil, failure)
            case .failed(let failure): self.end(failure)
            }
        }
    }

    /// Sends the body after the wait for 100 Continue.
    private func goOn() {
        guard stage == .sending, stream != nil, expectation.end() else { return }
        sendBody()
    }

    private func ask(isReplay: Bool = false, avoiding: PoolMachine.ConnectionID? = nil) {
        // without an id the pool has already replied
        if let id = pool.ask(self, isReplay: isReplay, avoiding: avoiding) { ticket = id }
    }

    func sendAgain(avoiding: PoolMachine.ConnectionID? = nil) {
        letGo()
        // a Digest proof is for one sending alone (RFC 7616 section 3.4)
        if sent != .notSent, attempt.isProved { attempt = observer.sendsAgain(attempt) }
        (sent, unreceived) = (.notSent, 0)
        clock.startAgain()
        stage = .queued
        ask(isReplay: true, avoiding: avoiding)
        pool.deadlines.movedUp(self)
    }

    private func requestSent() {
        stream?.requestSent()
        guard stage == .sending, clock.phase == .request else { return }
        clock.enter(.firstByte)
        pool.deadlines.movedUp(self)
    }
}

// MARK: calls from the connection

extension AttemptRunner: ConnectionUser {
    func wantsMore() -> Bool { !isHeld && (stage == .sending || body.hasRoom) }

    func received(_ bytes: Int) {
        sent = .sent
        clock.received(bytes)
        if stage == .sending { clock.headBegins() }
        switch clock.phase {
        // the response to a request that is still being sent: the phase continues
        case .request where writer != nil || expectation.isWaiting: break
        case .request, .firstByte: clock.enter(.response)
        default: if stage == .sending || body.isAwaited { clock.moved() }
        }
        pool.deadlines.movedUp(self)
    }

    func informational(_ head: ResponseHead) {
        clock.informed()
        observer.informational(head)
        if head.status == 100 { goOn() }
    }

    func responded(_ head: ResponseHead, _ framing: BodyFraming, stopSending: Bool) {
        guard stage == .sending else { return }
        if head.status == 417, expectation.isDeclared, !replays.bodyBegan {
            expectation.refuse()
            return sendAgain()
        }
        if replays.mayReplay(insteadOf: head, attempt, key, wasReused: clock.timeline.reused) { return sendAgain() }
        stage = .receiving
        sent = .sent
        if stopSending || expectation.isWaiting { pauseSending(hasBegun: !expectation.isWaiting) }
        clock.headEnds()
        clock.enter(.response)
        clock.pause()
        body.begin(head, framing, decodes: attempt.decodesContent)
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

    func completed(trailers: HTTPFields) {
        guard stage == .receiving else { return }
        stage = .done
        clock.end()
        pool.deadlines.forget(self)
        (stream, connection) = (nil, nil)
        letGo()
        body.end(trailers)
        publish()
        deliver()
    }

    /// Delivers the next piece to the waiting reader.
    private func deliver() {
        guard let hand = body.takeWaiting() else { return }
        guard let ready = tryNext() else {
            body.wait(hand)
            moved()
            // the decoder may have consumed all bytes without output
            return readMore()
        }
        clock.pause()
        hand(ready)
    }

    func ended(_ end: ConnectionEnd, _ error: (any Error)?) {
        guard stage != .done else { return }
        let (last, forNow) = (connection?.id, connection?.refusesForNow == true)
        stream = nil
        connection = nil
        if end == .unprocessed || end == .passedOver { sent = .notSent }
        switch replays.decide(end, attempt, key, responseBegan: stage != .sending, forNow: forNow) {
        case .no: self.end(certificateFault(error) ?? breakage(end, error))
        case .again: sendAgain()
        case .elsewhere: sendAgain(avoiding: last)
        case .overHTTP11:
            pool.needsHTTP11(key)
            key.version = .http11
            sendAgain()
        }
    }
}
