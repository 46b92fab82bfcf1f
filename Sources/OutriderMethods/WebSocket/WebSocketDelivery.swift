// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// The way of received messages to the streams.
extension WebSocketSource {
    /// Bytes that are handed to the streams at once.
    private static let pieceBytes = 128 << 10
    /// Bytes that have been read from the network and are not cut into messages yet; part of the backlog.
    private static let uncutBytes = 448 << 10
    /// The most bytes that wait for a client that closes: the longest backlog that a client can ask for.
    private static let closingBytes = 16 << 20
    /// The room for such a client grows by so many bytes, which count against the memory of the service.
    private static let closingStep = 1 << 20

    /// The limit of waiting messages, in bytes; a full backlog stops reading.
    private func mostHeld(_ state: borrowing State) -> Int {
        let most = max(options.backlog - Self.uncutBytes, options.backlog / 2)
        return bound(most, state) + state.closingRoom.count * Self.closingStep
    }

    /// A number of bytes, or without memory what is not counted.
    private func bound(_ most: Int, _ state: borrowing State) -> Int {
        state.memory.isFull ? min(most, MemoryBudget.counted) : most
    }

    /// Counts what waits, and the message that is being received. The memory in the result is given back behind the lock.
    func countHeld(_ state: inout State) -> [MemoryCharge] {
        let waiting = max(0, state.backlog.held - state.closingRoom.count * Self.closingStep)
        return state.memory.wait(waiting + (state.machine?.heldBytes ?? 0))
    }

    /// Delivers a record at once if no earlier records wait; else appends the record, and starts the delivery.
    func store(_ record: [UInt8]) {
        if record.withUnsafeBytes({ pass([$0], record.count) }) { return beginDelivery() }
        append(record)
    }

    /// The same for the records of a piece of input.
    func store(_ records: MessageRecords, _ input: UnsafeRawBufferPointer) {
        if records.withBuffers(in: input, { pass($0, records.count) }) { return beginDelivery() }
        append(records.bytes(in: input))
    }

    private func pass(_ buffers: [UnsafeRawBufferPointer], _ count: Int) -> Bool {
        guard state.withLock({ $0.backlog.beginPassing(count) }) else { return false }
        defer { state.withLock { $0.backlog.endPassing() } }
        return hub.pass(buffers, count)
    }

    private func append(_ records: [UInt8]) {
        let (limit, link, _) = state.withLock { state -> (Int?, (any UpgradeLink)?, [MemoryCharge]) in
            state.backlog.append(records)
            let link = state.backlog.held > Self.pieceBytes ? state.link : nil
            let surplus = countHeld(&state)
            let most = bound(options.backlog, state)
            switch options.overflow {
            case .wait: break
            case .dropOldest:
                state.backlog.drop(to: most)
                return (nil, link, surplus + countHeld(&state))
            case .close: return (state.backlog.isFull(most) ? most : nil, link, surplus)
            }
            return (nil, link, surplus)
        }
        link?.onLoop { link?.shortenReads() }
        beginDelivery()
        if let limit {
            let text = "the client took its messages too slowly: more than \(limit) bytes wait (overflow: close)"
            fail(WebSocketFault(CloseCode.policyViolation, text), HTTPFailure(.limitExceeded, text, sent: .sent))
        }
    }

    private func beginDelivery() {
        let exchange = state.withLock { state -> Exchange? in
            guard let exchange = state.exchange, state.backlog.beginDelivery() else { return nil }
            return exchange
        }
        guard let exchange else { return }
        let task = exchange.attend { await self.deliver() }
        state.withLock { state in
            if state.backlog.held > 0 { state.backlog.pump = task }
        }
    }

    /// Delivers the waiting records to the streams, as fast as they take records.
    private func deliver() async {
        while true {
            let (records, _) = state.withLock { state -> ([UInt8], [MemoryCharge]) in
                state.backlog.delivered()
                guard state.backlog.count > 0 else {
                    state.backlog.endDelivery()
                    return ([], countHeld(&state))
                }
                var told: [UInt8] = []
                if state.backlog.dropped > 0 {
                    if options.tellsStates {
                        told = SocketState(kind: .dropped, dropped: state.backlog.dropped).record
                    }
                    state.backlog.dropped = 0
                }
                let taken = state.backlog.take(Self.pieceBytes)
                return (told.isEmpty ? taken : told + taken, countHeld(&state))
            }
            room.ring()
            if records.isEmpty { return }
            do throws(HTTPFailure) {
                try await hub.take(records)
            } catch {
                // the end delivers the rest, if the streams still need records
                return state.withLock { $0.backlog.delivered() }
            }
        }
    }

    /// Waits while the backlog is full. Nothing more is read from the network meanwhile.
    func roomForMore() async {
        guard options.overflow == .wait else { return }
        while isFull, !makeClosingRoom() {
            await room.wait()
            if Task.isCancelled { return }
        }
    }

    private var isFull: Bool {
        state.withLock { state in
            state.backlog.held >= mostHeld(state) && state.close == nil && state.stage == .open
        }
    }

    /// The server's Close frame stands behind messages that a closing client may not take: the backlog grows for these
    /// messages. False if the client does not close, or if there is no more memory.
    private func makeClosingRoom() -> Bool {
        let quota = state.withLock { state -> BodyQuota? in
            guard !state.closers.isEmpty, mostHeld(state) < Self.closingBytes else { return nil }
            return state.exchange?.quota
        }
        guard let charge = quota?.hold(Self.closingStep) else { return false }
        state.withLock { $0.closingRoom.append(charge) }
        return true
    }

    // MARK: keep-alive

    /// Checks the connection when a ping or a timeout may be due.
    func watch() {
        guard options.keepAlive != nil else { return }
        let now = now
        let isSuspended = state.withLock { $0.exchange?.isSuspended == true }
        let step = state.withLock { state -> KeepAlive.Step? in
            guard state.stage == .open, state.close == nil else { return nil }
            // nothing is read while the request is suspended, or while a full backlog waits for the client
            let isWaiting = state.backlog.held >= mostHeld(state) && options.overflow == .wait
            let isReading = !isSuspended && !isWaiting
            let step = state.keepAlive?.tick(now: now, isReading: isReading)
            // no ping follows the Close frame of the client: a silent server is noticed without a ping
            if step == .ping, state.machine?.phase == .open {
                writePing(Array("keep-alive".utf8), &state)
                state.sending.pinged()
            }
            return step
        }
        switch step {
        case nil: return
        case .wait(let seconds): schedule(after: seconds)
        case .ping:
            flush()
            schedule(after: options.keepAlive?.timeout ?? 1)
        case .dead:
            let text = "no pong came within \(options.keepAlive?.timeout ?? 0) seconds"
            fail(
                WebSocketFault(1011, text),
                HTTPFailure(.webSocketPingTimeout, "the WebSocket failed: \(text)", phase: .response, sent: .sent))
        }
    }

    /// A ping after each change of the network shows whether the connection survived.
    func listenToNetwork() {
        guard options.keepAlive != nil, state.withLock({ $0.networkListener == nil }) else { return }
        let id = engine.listenToNetwork { [weak self] in self?.networkChanged() }
        state.withLock { $0.networkListener = id }
    }

    func ignoreNetwork() {
        if let id = state.withLock({ $0.networkListener.take() }) { engine.ignoreNetwork(id) }
    }

    private func networkChanged() {
        state.withLock { $0.keepAlive?.networkChanged() }
        watch()
    }

    private func schedule(after seconds: Double) {
        let alarm = engine.later(seconds: max(0.01, seconds)) { [weak self] in self?.watch() }
        state.withLock { state in
            state.alarm?.cancel()
            state.alarm = state.stage == .open ? alarm : nil
        }
    }
}
