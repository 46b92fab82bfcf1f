// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// Sending messages and pings, and closing.
extension WebSocketSource {
    /// Larger messages are not compressed: that would hold up the event loop.
    private static let mostCompressed = 128 << 10
    /// Bytes that are written at once, so that a long message shows progress.
    private static let pieceBytes = 64 << 10

    enum Refusal {
        case refused(RPCError)
        case tooMuch
        case noMemory
    }

    /// Takes the messages in order; not nil if they are refused.
    ///
    /// - Parameters:
    ///   - memory: the memory of the messages, which is kept until the kernel has them; nil for short messages.
    ///   - isPaced: whether the caller waits for room after each message.
    func take(_ messages: [OutgoingMessage], memory: (any PayloadCharge)?, isPaced: Bool = false) -> Refusal? {
        let size = messages.reduce(0) { $0 &+ $1.bytes.count }
        let refusal = state.withLock { state -> Refusal? in
            if let refusal = Self.refusal(&state) { return .refused(refusal) }
            let limit = max(WebSocketSending.limit, size)
            guard state.sending.waiting <= limit - size else { return .tooMuch }
            if memory == nil, !isPaced, !state.memory.maySend(state.sending.uncounted + size) { return .noMemory }
            for message in messages {
                if state.stage == .opening { state.sending.keep(message) } else { _ = encode(message, &state) }
            }
            if let memory { state.sending.count(memory) }
            return nil
        }
        if let refusal { return refusal }
        memory?.giveWay()
        flush()
        return nil
    }

    /// Why the WebSocket cannot send; nil if possible.
    private static func refusal(_ state: inout State) -> RPCError? {
        switch state.stage {
        // a message for a lost connection may mean nothing to the next one
        case .opening where state.wasOpen, .reconnecting:
            return .wrongState(
                "the WebSocket is being opened again: send again when event.socket says open", "reconnecting")
        case .opening: return nil
        case .open, .over:
            if state.stage == .open, state.machine?.phase == .open { return nil }
            var details: [FailureDetail] = []
            if let code = state.close?.code { details = [.closeCode(code)] }
            var error = RPCError.wrongState(
                HTTPFailure(.webSocketClosedByPeer, "the WebSocket is closed: nothing can be sent", details: details),
                "closed")
            if let code = state.close?.code { error.data?["closeCode"] = .integer(Int64(code)) }
            return error
        }
    }

    /// Makes the frame of a message. False if the WebSocket cannot send.
    func encode(_ message: OutgoingMessage, _ state: inout State) -> Bool {
        let threshold = state.agreement?.deflate?.threshold ?? 0
        let isCompressed = message.bytes.count >= threshold && message.bytes.count <= Self.mostCompressed
        let deflater = isCompressed ? state.deflater : nil
        var frames: [UInt8] = []
        frames.reserveCapacity(message.bytes.count + 14)
        let mask = state.sending.mask()
        let isSent = message.bytes.withUnsafeBytes { bytes in
            state.machine?.send(message.isText ? .text : .binary, bytes, deflater: deflater, mask: mask, to: &frames)
        }
        state.sending.append(frames)
        return isSent == true
    }

    /// Returns when there is room, or after `wait`: how many bytes may follow without waiting.
    func room(_ wait: Duration) async throws -> Int {
        let signal = AsyncSignal()
        let deadline = ContinuousClock.now.advanced(by: wait)
        while true {
            let isLate = ContinuousClock.now >= deadline
            let (room, isOver) = state.withLock { state in
                let room = max(0, WebSocketSending.capacity - state.sending.waiting)
                let isOver = isLate || state.close != nil || state.stage == .over
                // of calls that wait alone: a client may ask forever
                state.sending.senders.removeAll { $0 === signal }
                if room == 0, !isOver { state.sending.senders.append(signal) }
                return (room, isOver)
            }
            if room > 0 || isOver { return room }
            await signal.wait(until: deadline)
            try Task.checkCancellation()
        }
    }

    // MARK: writing

    /// Lets the event loop write the waiting frames, with everything else that is sent in this turn.
    func flush() {
        let link = state.withLock { state -> (any UpgradeLink)? in
            guard !state.sending.frames.isEmpty, !state.sending.isScheduled else { return nil }
            guard let link = state.link else { return nil }
            state.sending.isScheduled = true
            return link
        }
        link?.soon { self.drain() }
    }

    /// Writes the waiting frames. On the loop.
    func drain() {
        let (bytes, link) = state.withLock { ($0.sending.take(), $0.link) }
        guard !bytes.isEmpty, let link else { return }
        guard bytes.count > Self.pieceBytes else { return link.write(bytes) { _ in self.wrote(bytes.count) } }
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let piece = Array(bytes[start..<min(start + Self.pieceBytes, bytes.count)])
            link.write(piece) { _ in self.wrote(piece.count) }
        }
    }

    private func wrote(_ count: Int) {
        let now = now
        let (signals, _) = state.withLock { state -> ([AsyncSignal], [MemoryCharge]) in
            if state.sending.isPingWaiting { state.keepAlive?.progressed(now: now) }
            let signals = state.sending.wrote(count)
            if !state.sending.isCongested, state.machine?.owesPong == true {
                var frames: [UInt8] = []
                let mask = state.sending.mask()
                state.machine?.drained(mask: mask, to: &frames)
                state.sending.append(frames)
            }
            return (signals, state.memory.sent(state.sending.uncounted))
        }
        signals.forEach { $0.ring() }
        flush()
    }

    // MARK: pings

    enum PingOutcome {
        case rtt(Duration)
        case refused(RPCError)
        case timedOut
    }

    /// Sends a ping, and waits for its pong.
    func ping(_ payload: [UInt8]?, timeout: Duration) async throws -> PingOutcome {
        let signal = AsyncSignal()
        let (id, refusal) = state.withLock { state -> (Int, RPCError?) in
            if let refusal = Self.refusal(&state) { return (0, refusal) }
            guard state.stage == .open else { return (0, .wrongState("the WebSocket is not open yet", "opening")) }
            state.sending.nextPing += 1
            let id = state.sending.nextPing
            let payload = payload ?? Array("outrider \(id)".utf8)
            state.sending.pings.append(WebSocketSending.Ping(payload: payload, sent: .now, signal: signal, id: id))
            writePing(payload, &state)
            return (id, nil)
        }
        if let refusal { return .refused(refusal) }
        flush()
        await signal.wait(until: .now + timeout)
        let (rtt, error) = state.withLock { state -> (Duration?, RPCError?) in
            let index = state.sending.pings.firstIndex { $0.id == id }
            return (index.map { state.sending.pings.remove(at: $0) }?.rtt, Self.refusal(&state))
        }
        try Task.checkCancellation()
        if let rtt { return .rtt(rtt) }
        if let error { return .refused(error) }
        return .timedOut
    }

    func writePing(_ payload: [UInt8], _ state: inout State) {
        var frames: [UInt8] = []
        let mask = state.sending.mask()
        payload.withUnsafeBytes { FrameWriter.append(.ping, $0, mask: mask, to: &frames) }
        state.sending.append(frames)
    }

    /// Pongs came: each completes the ping with its payload, and all pings before that ping.
    func ponged(_ pongs: [[UInt8]]) {
        let now = ContinuousClock.now
        let signals = state.withLock { state -> [AsyncSignal] in
            var signals: [AsyncSignal] = []
            for pong in pongs {
                guard let last = state.sending.pings.firstIndex(where: { $0.payload == pong && $0.rtt == nil }) else {
                    continue
                }
                for index in 0...last where state.sending.pings[index].rtt == nil {
                    state.sending.pings[index].rtt = now - state.sending.pings[index].sent
                    signals.append(state.sending.pings[index].signal)
                }
            }
            return signals
        }
        signals.forEach { $0.ring() }
    }

    // MARK: closing

    /// Sends a Close frame, and waits for the server's.
    func close(_ code: Int, _ reason: String, wait: Duration) async throws -> SocketClose {
        let signal = AsyncSignal()
        let (ended, exchange) = state.withLock { state -> (SocketClose?, Exchange?) in
            // between connections, the end is that of the former
            if let close = state.close, state.stage == .open || state.stage == .over { return (close, nil) }
            guard state.stage == .open else { return (SocketClose(code: CloseCode.lost), state.exchange) }
            var frames: [UInt8] = []
            let mask = state.sending.mask()
            state.isLeaving = true
            _ = state.machine?.close(code, reason, mask: mask, to: &frames)
            state.sending.append(frames)
            state.closers.append(signal)
            return (nil, nil)
        }
        exchange?.cancel()
        if let ended { return ended }
        flush()
        // a full backlog may grow now
        room.ring()
        await signal.wait(until: .now + wait)
        try Task.checkCancellation()
        if let close = state.withLock({ $0.close }) { return close }
        // the server stays silent: TCP ends
        finish(state.withLock { $0.link }, within: 0)
        return SocketClose(code: CloseCode.lost)
    }
}
