// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// Messages that the streams of a WebSocket have not taken yet, as records.
struct WebSocketBacklog: ~Copyable {
    /// Records that arrive in small portions are put together up to this size.
    private static let joinedBytes = 32 << 10

    /// Portions of whole records. The portions before `head` were taken.
    private var portions: [[UInt8]] = []
    private var head = 0
    /// The offset of the first waiting record in the first portion.
    private var start = 0
    /// Bytes that wait.
    private(set) var count = 0
    /// Bytes that were taken, and are not delivered yet.
    private(set) var underWay = 0
    /// Bytes that are being delivered past the backlog.
    private var passing = 0
    /// Whether a delivery has begun, or is about to.
    private var isDelivering = false
    /// Delivers; nil while nothing waits, and for a moment at the beginning.
    var pump: Task<Void, Never>?
    /// Messages dropped since the last report to the client.
    var dropped = 0

    /// Bytes that wait, or are being delivered.
    var held: Int { count + underWay + passing }

    mutating func append(_ more: [UInt8]) {
        guard !more.isEmpty else { return }
        count += more.count
        if let last = portions.indices.last, portions[last].count + more.count <= Self.joinedBytes {
            portions[last].append(contentsOf: more)
        } else {
            portions.append(more)
        }
    }

    /// Whole records of up to that many bytes, at least one record.
    mutating func take(_ most: Int) -> [UInt8] {
        var taken = takeFirst(most)
        while let next = portions[head...].first, taken.count + next.count - start <= most {
            taken.append(contentsOf: takeFirst(most))
        }
        underWay = taken.count
        return taken
    }

    /// The same, of the first portion.
    private mutating func takeFirst(_ most: Int) -> [UInt8] {
        guard let first = portions[head...].first else { return [] }
        var end = first.count
        if end - start > most {
            end = start + MessageRecord.size(first[start...])
            while end < first.count {
                let next = end + MessageRecord.size(first[end...])
                if next - start > most { break }
                end = next
            }
        }
        let taken = start == 0 && end == first.count ? first : Array(first[start..<end])
        advance(to: end)
        return taken
    }

    mutating func delivered() { underWay = 0 }

    /// Whether a delivery must begin: records wait, and nothing delivers. The caller begins the delivery.
    mutating func beginDelivery() -> Bool {
        guard count > 0, passing == 0, !isDelivering else { return false }
        isDelivering = true
        return true
    }

    mutating func endDelivery() {
        delivered()
        isDelivering = false
        pump = nil
    }

    /// Records that do not go through the backlog are being delivered. False if other records go first.
    mutating func beginPassing(_ count: Int) -> Bool {
        guard held == 0, !isDelivering, dropped == 0 else { return false }
        passing = count
        return true
    }

    mutating func endPassing() { passing = 0 }

    /// Drops the oldest messages until no more than that many bytes wait. Keeps the newest, even if longer.
    mutating func drop(to most: Int) {
        while count > most, let first = portions[head...].first {
            let size = MessageRecord.size(first[start...])
            if size >= count { return }
            if MessageRecord.head(first[start...]).kind != .control { dropped += 1 }
            advance(to: start + size)
        }
    }

    /// Whether more than that many bytes are held. A single longer message counts once another follows.
    func isFull(_ most: Int) -> Bool {
        guard held > most, let last = portions.last else { return false }
        var newest = 0
        var end = 0
        while end < last.count {
            newest = end
            end += MessageRecord.size(last[end...])
        }
        let longest = last.count - newest
        return longest <= most || held - longest > most
    }

    /// Drops the first portion's bytes before `end`.
    private mutating func advance(to end: Int) {
        count -= end - start
        start = end
        guard start >= portions[head].count else { return }
        portions[head] = []
        head += 1
        start = 0
        guard head == portions.count || head > 64 else { return }
        portions.removeFirst(head)
        head = 0
    }
}

extension WebSocketSource {
    /// Bytes that are handed to the streams at once.
    private static let pieceBytes = 128 << 10
    /// Bytes that have been read from the network and are not cut into messages yet; part of the backlog.
    private static let uncutBytes = 448 << 10

    /// The limit of waiting messages, in bytes; a full backlog stops reading.
    private var mostHeld: Int { max(options.backlog - Self.uncutBytes, options.backlog / 2) }

    /// Delivers records at once if no earlier records wait; else appends the records, and starts the delivery.
    func store(_ records: [UInt8]) {
        if state.withLock({ $0.backlog.beginPassing(records.count) }) {
            let isPassed = hub.pass(records)
            state.withLock { $0.backlog.endPassing() }
            if isPassed { return beginDelivery() }
        }
        let isFull = state.withLock { state in
            state.backlog.append(records)
            switch options.overflow {
            case .wait: break
            case .dropOldest: state.backlog.drop(to: options.backlog)
            case .close: return state.backlog.isFull(options.backlog)
            }
            return false
        }
        beginDelivery()
        if isFull {
            let text =
                "the client took its messages too slowly: more than \(options.backlog) bytes wait (overflow: close)"
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
            let records = state.withLock { state -> [UInt8] in
                state.backlog.delivered()
                guard state.backlog.count > 0 else {
                    state.backlog.endDelivery()
                    return []
                }
                var told: [UInt8] = []
                if state.backlog.dropped > 0 {
                    if options.tellsStates {
                        told = SocketState(kind: .dropped, dropped: state.backlog.dropped).record
                    }
                    state.backlog.dropped = 0
                }
                let taken = state.backlog.take(Self.pieceBytes)
                return told.isEmpty ? taken : told + taken
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
        while state.withLock({ $0.backlog.held >= mostHeld && $0.close == nil && $0.stage == .open }) {
            await room.wait()
            if Task.isCancelled { return }
        }
    }

    // MARK: keep-alive

    /// Checks the connection when a ping or a timeout may be due.
    func watch() {
        guard options.keepAlive != nil else { return }
        let now = now
        let isSuspended = state.withLock { $0.exchange?.isSuspended == true }
        let step = state.withLock { state -> KeepAlive.Step? in
            guard state.stage == .open, state.close == nil else { return nil }
            // nothing is read while the request is suspended, or while the client takes nothing
            let isReading = !isSuspended && state.backlog.held < mostHeld
            let step = state.keepAlive?.tick(now: now, isReading: isReading)
            if step == .ping { writePing(Array("keep-alive".utf8), &state) }
            return step
        }
        switch step {
        case nil: return
        case .wait(let seconds): schedule(after: seconds)
        case .ping:
            flush()
            schedule(after: options.keepAlive?.timeout ?? 1)
        case .dead:
            let text = "no answer to a ping came within \(options.keepAlive?.timeout ?? 0) seconds"
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
