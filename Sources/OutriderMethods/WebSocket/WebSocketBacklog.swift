// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

/// Messages that the streams of a WebSocket have not taken yet, as records.
struct WebSocketBacklog: ~Copyable {
    private var records: [UInt8] = []
    /// Where the first record begins that was not taken.
    private var start = 0
    /// Bytes that were taken, and are not delivered yet.
    private(set) var underWay = 0
    /// Delivers; nil while nothing waits.
    var pump: Task<Void, Never>?
    /// Messages that were dropped since the client last heard of it.
    var dropped = 0

    var count: Int { records.count - start }

    /// Bytes that wait, or are being delivered.
    var held: Int { count + underWay }

    mutating func append(_ more: [UInt8]) {
        if count == 0 {
            records = more
            start = 0
        } else {
            records.append(contentsOf: more)
        }
    }

    /// Whole records up to so many bytes, at least one.
    mutating func take(_ most: Int) -> [UInt8] {
        var end = start
        while end < records.count {
            let next = end + MessageRecord.headBytes + MessageRecord.head(records[end...]).length
            if next - start > most, end > start { break }
            end = min(next, records.count)
        }
        underWay = end - start
        defer { advance(to: end) }
        return start == 0 && end == records.count ? records : Array(records[start..<end])
    }

    mutating func delivered() { underWay = 0 }

    /// Drops the oldest messages until no more than so many bytes wait.
    mutating func drop(to most: Int) {
        var end = start
        while records.count - end > most, end < records.count {
            end += MessageRecord.headBytes + MessageRecord.head(records[end...]).length
            dropped += 1
        }
        advance(to: min(end, records.count))
    }

    private mutating func advance(to end: Int) {
        start = end
        if start == records.count {
            records = []
            start = 0
        } else if start > 1 << 20 {
            records.removeFirst(start)
            start = 0
        }
    }
}

extension WebSocketSource {
    /// Bytes that are handed to the streams at once.
    private static let pieceBytes = 128 << 10

    /// Puts records behind those that wait, and sees to it that they are delivered.
    func store(_ records: [UInt8]) {
        let (exchange, isFull) = state.withLock { state -> (Exchange?, Bool) in
            state.backlog.append(records)
            let isFull = state.backlog.held > wishes.backlog
            if isFull, wishes.overflow == .dropOldest { state.backlog.drop(to: wishes.backlog) }
            return (state.backlog.pump == nil ? state.exchange : nil, isFull)
        }
        if let exchange {
            let task = exchange.attend { await self.deliver() }
            state.withLock { state in
                if state.backlog.held > 0 { state.backlog.pump = task }
            }
        }
        if isFull, wishes.overflow == .close, state.withLock({ $0.backlog.held > wishes.backlog }) {
            let text =
                "the client took its messages too slowly: more than \(wishes.backlog) bytes wait (overflow: close)"
            fail(WebSocketFault(CloseCode.policyViolation, text), HTTPFailure(.limitExceeded, text, sent: .sent))
        }
    }

    /// Hands what waits to the streams, as fast as they take it.
    private func deliver() async {
        while true {
            let records = state.withLock { state -> [UInt8] in
                state.backlog.delivered()
                guard state.backlog.count > 0 else {
                    state.backlog.pump = nil
                    return []
                }
                var told: [UInt8] = []
                if state.backlog.dropped > 0 {
                    if wishes.tellsStates {
                        told = SocketState(kind: .dropped, dropped: state.backlog.dropped).record
                    }
                    state.backlog.dropped = 0
                }
                return told + state.backlog.take(Self.pieceBytes)
            }
            room.ring()
            if records.isEmpty { return }
            do throws(HTTPFailure) {
                try await hub.take(records)
            } catch {
                // the rest is given to the streams at the end, if they are still wanted
                return state.withLock { $0.backlog.delivered() }
            }
        }
    }

    /// Waits while the backlog is full. Nothing more is read from the network meanwhile.
    func roomForMore() async {
        guard wishes.overflow == .wait else { return }
        while state.withLock({ $0.backlog.held >= wishes.backlog && $0.close == nil && $0.stage == .open }) {
            await room.wait()
            if Task.isCancelled { return }
        }
    }

    // MARK: keep-alive

    /// Looks after the connection when something may be due.
    func watch() {
        guard wishes.keepAlive != nil else { return }
        let now = now
        let isSuspended = state.withLock { $0.exchange?.isSuspended == true }
        let step = state.withLock { state -> KeepAlive.Step? in
            guard state.stage == .open, state.close == nil else { return nil }
            // nothing is read while the request is suspended, or while the client takes nothing
            if isSuspended || state.backlog.held >= wishes.backlog { state.keepAlive?.restart(now: now) }
            let step = state.keepAlive?.tick(now: now)
            if step == .ping { writePing(Array("keep-alive".utf8), &state) }
            return step
        }
        switch step {
        case nil: return
        case .wait(let seconds): schedule(after: seconds)
        case .ping:
            flush()
            schedule(after: state.withLock { $0.keepAlive?.patience } ?? 1)
        case .dead:
            let text = "no answer to a ping came within \(wishes.keepAlive?.timeout ?? 0) seconds"
            fail(
                WebSocketFault(1011, text),
                HTTPFailure(.webSocketPingTimeout, "the WebSocket failed: \(text)", phase: .response, sent: .sent))
        }
    }

    private func schedule(after seconds: Double) {
        let alarm = engine.later(seconds: max(0.01, seconds)) { [weak self] in self?.watch() }
        state.withLock { state in
            state.alarm?.cancel()
            state.alarm = state.stage == .open ? alarm : nil
        }
    }
}
