// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// Runs the WebSocket of a request: each connection is an attempt of the request, and reconnecting a retry.
///
///     opening ──101──▶ open ──ended──▶ over
///        ▲               └──to be opened again──▶ reconnecting ──▶ opening
///
/// The bytes of the response go through a `WebSocketMachine`; whole messages wait in a backlog, within its bound, until
/// the streams take them (`WebSocketBacklog`). Outgoing messages are masked here and written by the connection's event
/// loop.
///
/// Responsible for: the current connection, its end, and the reports on both to the client.
/// Not responsible for: the rules of frames and reconnecting, delivering items.
final class WebSocketSource: StreamSocket {
    /// The client's options.
    struct Options: Sendable {
        var protocols: [String] = []
        /// Nil if compression is not offered.
        var deflate: DeflateOffer? = DeflateOffer()
        /// The most bytes of a message.
        var maxMessage = 1 << 20
        /// Bytes of messages that may wait for the client.
        var backlog = 1 << 20
        var overflow = Overflow.wait
        /// Nil for no pings.
        var keepAlive: KeepAlive.Settings? = KeepAlive.Settings()
        var reconnect = WebSocketReconnect.Policy()
        /// Sent first on each connection.
        var greeting: [OutgoingMessage] = []
        /// Whether the client gets reports on the connection's state.
        var tellsStates = false
    }

    /// The action on a full backlog.
    enum Overflow: String, Sendable, CaseIterable { case wait, dropOldest, close }

    enum Stage: Sendable { case opening, open, reconnecting, over }

    /// The key of the WebSocket among the exchange's delegates.
    static let key = "\0websocket"
    /// Compressed bytes that are inflated before the backlog is looked at again.
    private static let sliceBytes = 4 << 10
    /// Seconds that a connection without further messages waits for the server to close.
    static let linger = 2.0

    struct State: ~Copyable {
        var stage = Stage.opening
        var reconnect: WebSocketReconnect
        var memory: WebSocketMemory
        var inner: (any ExchangeDelegate)?
        weak var exchange: Exchange?
        var handshake: WebSocketHandshake?
        var agreement: WebSocketHandshake.Agreement?
        var machine: WebSocketMachine?
        var link: (any UpgradeLink)?
        var deflater: (any MessageDeflating)?
        var sending = WebSocketSending()
        var backlog = WebSocketBacklog()
        /// The memory of what waits beyond the backlog while the client closes.
        var closingRoom: [MemoryCharge] = []
        var keepAlive: KeepAlive?
        var alarm: ScheduledWork?
        /// Reports changes of the network; nil before the first connection is open, and without pings.
        var networkListener: Int?
        /// How the connection closed; the last connection, once the stage is over.
        var close: SocketClose?
        var failure: HTTPFailure?
        /// The reconnection that `finish` decided on.
        var delay: Double?
        /// Messages that were cut off since the last report to the client.
        var dropped = 0
        /// The client closes: no connection follows.
        var isLeaving = false
        /// A connection was open.
        var wasOpen = false
        /// Calls that wait for the end.
        var closers: [AsyncSignal] = []
    }

    let options: Options
    let hub: StreamFanout
    let outlet: StreamBodyConsumer
    let engine: Engine
    let state: Mutex<State>
    /// Wakes the exchange that waits for room in the backlog.
    let room = AsyncSignal()
    private let began = ContinuousClock.now

    init(
        _ options: Options, _ hub: StreamFanout, _ outlet: StreamBodyConsumer, _ engine: Engine, quota: BodyQuota
    ) {
        self.options = options
        self.hub = hub
        self.outlet = outlet
        self.engine = engine
        state = Mutex(
            State(reconnect: WebSocketReconnect(options.reconnect), memory: WebSocketMemory(quota)))
    }

    /// Seconds, forward.
    var now: Double { began.duration(to: .now) / .seconds(1) }

    /// The negotiated options; nil before the first connection is open.
    var agreement: WebSocketHandshake.Agreement? { state.withLock { $0.agreement } }

    var wasOpen: Bool { state.withLock { $0.wasOpen } }

    func belongs(to exchange: Exchange) { state.withLock { $0.exchange = exchange } }

    // MARK: the end of a connection

    /// The machine has ended the connection: no message follows.
    func ended(_ end: WebSocketEnd) {
        let (link, failure, signals) = state.withLock { state -> ((any UpgradeLink)?, HTTPFailure?, [AsyncSignal]) in
            guard state.close == nil else { return (nil, nil, []) }
            switch end {
            case .closed(let code, let reason):
                state.close = SocketClose(code: code ?? CloseCode.none, reason: reason, isClean: true)
            case .failed(let fault):
                state.close = SocketClose(code: fault.code)
                state.failure = state.failure ?? Self.failure(fault)
            case .lost(let wasClosing):
                state.close = SocketClose(code: CloseCode.lost)
                if !wasClosing { state.failure = state.failure ?? Self.lost }
            }
            state.alarm?.cancel()
            state.alarm = nil
            defer { state.closers = [] }
            return (state.link, state.failure, state.closers + state.sending.end())
        }
        signals.forEach { $0.ring() }
        finish(link, within: failure?.kind == .webSocketPingTimeout ? 0 : Self.linger)
    }

    /// Writes the waiting frames, and ends the connection after that many seconds at most.
    func finish(_ link: (any UpgradeLink)?, within seconds: Double) {
        guard let link else { return }
        link.onLoop {
            self.drain()
            link.finish(within: seconds)
        }
    }

    static func failure(_ fault: WebSocketFault) -> HTTPFailure {
        let kind: HTTPFailure.Kind =
            fault.code == CloseCode.messageTooBig ? .webSocketMessageTooBig : .webSocketProtocolError
        return HTTPFailure(
            kind, "the WebSocket failed: \(fault.text)", phase: .response, sent: .sent,
            details: [.closeCode(fault.code)])
    }

    private static let lost = HTTPFailure(
        .connectionLost, "the server ended the connection without closing the WebSocket", phase: .response, sent: .sent)

    /// Fails the connection for a local reason. Between connections the exchange ends: no connection follows.
    func fail(_ fault: WebSocketFault, _ failure: HTTPFailure? = nil) {
        var arrivals = WebSocketArrivals()
        let exchange = state.withLock { state -> Exchange? in
            guard state.machine != nil else {
                state.isLeaving = true
                return state.exchange
            }
            state.failure = state.failure ?? failure
            let mask = state.sending.mask()
            state.machine?.fail(fault, mask: mask, into: &arrivals)
            state.sending.append(arrivals.frames)
            return nil
        }
        if let exchange {
            exchange.end(with: failure ?? Self.failure(fault))
            // an exchange that waits for request.resume has nothing that could end it
            exchange.start()
        }
        if let end = arrivals.end { ended(end) }
    }

    /// The client is done: tells the server, and ends the exchange.
    func leave(_ failure: HTTPFailure) {
        let (exchange, link) = state.withLock { state in
            state.isLeaving = true
            var frames: [UInt8] = []
            let mask = state.sending.mask()
            _ = state.machine?.close(CloseCode.goingAway, "", mask: mask, to: &frames)
            state.sending.append(frames)
            return (state.exchange, state.link)
        }
        guard let link else {
            exchange?.end(with: failure)
            // only a started exchange has a driver to end it
            exchange?.start()
            return
        }
        link.onLoop {
            self.drain()
            // before the end of the input, which would be a regular end; the attempt is cancelled in a later turn, when
            // the connection lingers
            exchange?.end(with: failure)
            link.finish(within: Self.linger)
        }
    }
}

extension WebSocketSource: UpgradeOwner {
    func upgraded(_ link: any UpgradeLink) { state.withLock { $0.link = link } }

    /// Each connection has a key of its own (RFC 6455 section 4.1 item 7).
    func renew(_ fields: inout HTTPFields) {
        let handshake = makeHandshake()
        state.withLock { $0.handshake = handshake }
        fields.set("Sec-WebSocket-Key", handshake.key)
    }

    func makeHandshake() -> WebSocketHandshake {
        var random: [UInt8] = []
        let pair = RandomPool.pair()
        for number in [pair.0, pair.1] {
            withUnsafeBytes(of: number) { random.append(contentsOf: $0) }
        }
        return WebSocketHandshake(random: random, protocols: options.protocols, deflate: options.deflate)
    }
}

// MARK: BodyOutlet

extension WebSocketSource: BodyOutlet {
    /// False: the rules of reconnecting decide whether to repeat the handshake.
    var hasTaken: Bool { false }

    /// The handshake was accepted: `judge` has checked.
    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure) {
        let now = now
        let record = state.withLock { state in
            let deflate = state.agreement?.deflate
            state.machine = WebSocketMachine(
                maxMessage: options.maxMessage, inflater: deflate.map { MessageCoders.inflater($0) })
            state.deflater = deflate.flatMap { MessageCoders.deflater($0) }
            state.stage = .open
            state.wasOpen = true
            state.close = nil
            state.failure = nil
            state.reconnect.opened(now: now)
            state.keepAlive = options.keepAlive.map { KeepAlive($0, now: now) }
            open(&state)
            return openRecord(&state)
        }
        flush()
        watch()
        listenToNetwork()
        try await outlet.begin(head, expecting: nil)
        if let record { store(record) }
    }

    /// Sends greetings first, then the messages that the client sent during the handshake.
    private func open(_ state: inout State) {
        let early = state.sending.takeEarly()
        for message in options.greeting + early { _ = encode(message, &state) }
        state.sending.countEarly()
    }

    private func openRecord(_ state: inout State) -> [UInt8]? {
        guard options.tellsStates else { return nil }
        var told = SocketState(kind: .open, attempt: state.exchange?.snapshot.attempts)
        told.subprotocol = state.agreement?.subprotocol
        return told.record
    }

    func take(_ chunk: BodyChunk) async throws(HTTPFailure) {
        let now = now
        let isDeflated = state.withLock { state in
            state.keepAlive?.received(now: now)
            return state.agreement?.deflate != nil
        }
        // a few bytes may inflate to a thousand times as many
        let step = max(1, isDeflated ? Self.sliceBytes : chunk.count)
        for start in stride(from: 0, to: chunk.count, by: step) {
            let range = start..<min(start + step, chunk.count)
            let arrivals = received(chunk, range)
            flush()
            if !arrivals.pongs.isEmpty { ponged(arrivals.pongs) }
            if !arrivals.records.isEmpty {
                chunk.withUnsafeBytes { store(arrivals.records, UnsafeRawBufferPointer(rebasing: $0[range])) }
            }
            if let end = arrivals.end { return ended(end) }
            await roomForMore()
            if Task.isCancelled { return }
        }
    }

    private func received(_ chunk: BodyChunk, _ range: Range<Int>) -> WebSocketArrivals {
        var arrivals = WebSocketArrivals()
        _ = state.withLock { state -> [MemoryCharge] in
            let isCongested = state.sending.isCongested
            var masks = state.sending.masks
            chunk.withUnsafeBytes { bytes in
                state.machine?.received(
                    UnsafeRawBufferPointer(rebasing: bytes[range]), isCongested: isCongested,
                    nextMask: { masks.next() }, into: &arrivals)
            }
            state.sending.masks = masks
            state.sending.append(arrivals.frames)
            return countHeld(&state)
        }
        return arrivals
    }

    /// The connection has ended. Throws the reason, or the failure that leads to a reconnection.
    func finish() async throws(HTTPFailure) {
        if let end = state.withLock({ $0.machine?.lost() }) { ended(end) }
        let now = now
        let chance = Double.random(in: 0...1)
        let (failure, record) = state.withLock { state -> (HTTPFailure?, [UInt8]?) in
            let code = state.close?.code ?? CloseCode.lost
            if state.isLeaving { return (state.failure, nil) }
            let step = state.reconnect.ended(.closed(code), now: now, chance: chance)
            switch step {
            case .finish: return (state.failure, closingRecord(&state))
            case .fail(let failure): return (failure, nil)
            case .reconnect(let delay):
                state.delay = delay
                return (state.failure ?? Self.lost, reconnecting(&state, after: delay))
            }
        }
        if let record { store(record) }
        if let failure { throw failure }
    }

    private func closingRecord(_ state: inout State) -> [UInt8]? {
        guard options.tellsStates, let close = state.close, close.isClean else { return nil }
        return SocketState(kind: .closing, code: close.code, reason: close.reason).record
    }

    /// The connection is gone; another follows.
    private func reconnecting(_ state: inout State, after delay: Double) -> [UInt8]? {
        if state.machine?.isWithinMessage == true { state.dropped += 1 }
        var told = SocketState(
            kind: .reconnecting, attempt: state.exchange.map { $0.snapshot.attempts + 1 }, after: delay)
        (told.code, told.reason) = (state.close?.code, state.close?.reason)
        told.dropped = state.dropped
        state.dropped = 0
        state.stage = .reconnecting
        state.machine = nil
        state.link = nil
        state.deflater = nil
        state.sending.reset()
        return options.tellsStates ? told.record : nil
    }

    func over(_ outcome: ExchangeOutcome) async {
        ignoreNetwork()
        let (signals, pump, close) = state.withLock { state in
            state.stage = .over
            state.alarm?.cancel()
            state.alarm = nil
            state.inner = nil
            defer { state.closers = [] }
            return (state.closers + state.sending.end(), state.backlog.pump, state.close)
        }
        signals.forEach { $0.ring() }
        hub.hasten()
        // a cancelled request drops its undelivered messages
        if outcome.failure?.kind.isEnd == true { pump?.cancel() }
        await pump?.value
        let (rest, memory, _) = state.withLock { state -> ([UInt8], [MemoryCharge], [MemoryCharge]) in
            state.machine = nil
            state.link = nil
            defer { state.closingRoom = [] }
            let memory = state.closingRoom + state.memory.takeIncoming()
            return (state.backlog.take(.max), memory, state.memory.sent(0))
        }
        let failure = outcome.failure
        hub.keep(memory)
        if failure?.kind.isEnd != true, !rest.isEmpty { hub.give(rest) }
        hub.close(with: close, SocketClose.record(close, failure))
        await outlet.over(outcome)
    }

    func renounce(_ failure: HTTPFailure) { outlet.renounce(failure) }
}
