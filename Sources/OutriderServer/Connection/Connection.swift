// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON
import OutriderRPC
import Synchronization

/// A client's connection: its calls, callbacks and output. Frames come in from a FrameFeed, bytes go out to a Wire.
///
/// The wire is used on the event loop only; everything else may come from any task, decides under the lock and acts
/// after its release.
final class Connection: Peer, Sendable {
    struct Setting: Sendable {
        var name: String
        var transport: PeerInfo.Transport
        var limits: ServerLimits
        var pad: Bool
        var pid: Int?
        var uid: Int?
        /// Whether `uid` is neither the user of the service nor root.
        var isOtherUser = false
    }

    let setting: Setting
    let loop: any EventLoop
    let wire: any Wire
    let service: any ServiceHooks
    let executor: ConnectionExecutor
    /// The client is half-closed, and events are still due to it.
    private let owes = Atomic(false)
    let state: Mutex<ConnectionState>
    private let feedBox = Mutex<NIOLoopBound<FrameFeed>?>(nil)
    private let padding = Mutex<RepeatedTask?>(nil)
    /// Set once, before the first frame.
    private let dispatchBox = Mutex<(any Dispatch)?>(nil)
    /// For stdio: the exit status of the process.
    let exitStatus = Atomic<Int32>(0)
    /// True until the first message is complete.
    let isSilent = Atomic(true)

    init(
        _ setting: Setting, loop: any EventLoop, executor: ConnectionExecutor, wire: any Wire, service: any ServiceHooks
    ) {
        self.setting = setting
        self.loop = loop
        self.executor = executor
        self.wire = wire
        self.service = service
        state = Mutex(ConnectionState(limits: setting.limits))
        service.tally.connections.count()
    }

    func open(_ dispatch: any Dispatch) { dispatchBox.withLock { $0 = dispatch } }

    var dispatch: (any Dispatch)? { dispatchBox.withLock { $0 } }

    /// Cuts the client's bytes into messages. On the loop.
    var feed: FrameFeed? { feedBox.withLock { $0 }?.value }

    func read(by feed: FrameFeed) { feedBox.withLock { $0 = NIOLoopBound(feed, eventLoop: loop) } }

    var info: PeerInfo {
        PeerInfo(
            connection: setting.name, transport: setting.transport, framing: state.withLock { $0.framing },
            pid: setting.pid, uid: setting.uid, isOtherUser: setting.isOtherUser)
    }

    var terms: PeerTerms { state.withLock { $0.terms } }

    func agree(to terms: PeerTerms) { state.withLock { $0.terms = terms } }

    // MARK: output

    /// Carries out the effects of a decision.
    func perform(_ effects: Effects) {
        for waiter in effects.admitted { waiter.resume() }
        if effects.isLong, loop.inEventLoop {
            flush()
        } else if effects.flush {
            // send the reply before the call is cleaned up: a client with a single call in progress waits for the reply
            if effects.isLast, loop.inEventLoop { flush() } else { loop.execute { self.flush() } }
        }
        if effects.watches { onLoop { self.watch() } }
        if effects.changesReading { onLoop { self.updateReading() } }
        if effects.finish { onLoop { self.wire.finish() } }
        if effects.settles { onLoop { self.settleDebts() } }
        effects.moved?.moved()
    }

    /// Reads the state again: a flush may have undone the decision in the meantime.
    private func updateReading() {
        let (reads, isFull) = state.withLock { ($0.reads, $0.outboxFull) }
        if let reads { wire.setReading(reads) }
        // deferred, because this may run inside the code that made room
        if !isFull { loop.execute { self.feed?.goOn() } }
    }

    /// Checks from time to time whether the client reads, and gives up a client that reads nothing for too long. On the
    /// loop.
    private func watch() {
        let patience = setting.limits.outbox.patience
        switch state.withLock({ $0.check(unwritten: wire.unwritten) }) {
        case .over: return
        case .again: _ = loop.scheduleTask(in: .clamped(patience / OutboxLimits.checks)) { self.watch() }
        case .giveUp:
            cancelAll()
            feed?.stop()
            flush()
            // leaves the client time to read the last message
            _ = loop.scheduleTask(in: .seconds(10)) { self.wire.abort() }
        }
    }

    func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }

    /// Marks a flush as coming, so that nothing schedules another flush until then.
    func expectFlush() { _ = state.withLock { $0.wantsFlush() } }

    /// Writes the outbox as far as the wire has room. On the loop: once per tick, and whenever the wire has room again.
    func flush() {
        if state.withLock({ $0.isFlushed() }) { return }
        var wrote = false
        while let gathered = state.withLock({ $0.gather(isWritable: wire.isWritable) }) {
            if write(gathered) { wrote = true }
        }
        if wrote { wire.flush() }
        perform(state.withLock { $0.flushed() })
    }

    /// Carries out a step of a flush. False if no bytes were written.
    func write(_ gathered: ConnectionState.Gathered) -> Bool {
        switch gathered {
        case .count(let bodies): count(bodies)
        case .fetch(let file, let range): fetch(file, range)
        case .bytes(let buffer):
            service.tally.bytesSent.count(buffer.readableBytes)
            wire.write(buffer)
            return true
        }
        return false
    }

    /// Reads a part of a long message from its file, and goes on.
    private func fetch(_ file: any SpilledPayload, _ range: Range<Int>) {
        file.read(at: range.lowerBound, count: range.count) { bytes in
            self.loop.execute {
                // half a message cannot be taken back
                guard let bytes, bytes.count == range.count else { return self.abort("cannot be read from its file") }
                self.state.withLock { $0.fetched(bytes) }
                self.flush()
            }
        }
    }

    /// Ends the connection, because a queued message cannot be sent. On the loop.
    func abort(_ why: String) {
        service.logger.warning(
            "a message to \(setting.name) \(why): the connection is closed (read replies sooner, or raise --memory)")
        wire.abort()
    }

    // MARK: ends

    /// The framing is known now.
    func learned(_ framing: Framing) { state.withLock { $0.framing = framing } }

    /// Sends a last error, then closes the connection. For peers that do not speak the protocol.
    func refuse(_ error: RPCError) {
        exitStatus.store(1, ordering: .relaxed)
        perform(
            state.withLock { state in
                let effects = state.push(.error(nil, error))
                if state.phase != .closed { state.phase = .finishing }
                return effects
            })
    }

    /// The client has said `exit`: closes once the queued replies are delivered. On the loop.
    func leave() {
        feed?.discard()
        perform(
            state.withLock { state in
                if !state.isBeyondMessages { state.phase = .finishing }
                return Effects(flush: state.wantsFlush())
            })
    }

    /// Disconnects a silent client, because its place is needed.
    func giveWay() {
        let text =
            "no message came within \(setting.limits.firstMessage.seconds) s, and another client needs the place (connect again)"
        let data: JSONObject = ["what": .string("connections")]
        onLoop { self.refuse(RPCError(.tooMany, text, data: data)) }
        // closes the connection even if the client neither reads nor closes its end
        loop.scheduleTask(in: .seconds(1)) { self.wire.abort() }
    }

    /// Sends an HTTP client an HTTP response.
    func refuseHTTP() {
        let error = RPCError(
            .invalidRequest, "This socket speaks newline-delimited or Content-Length framed JSON-RPC, not HTTP")
        let body = Outgoing.error(nil, error).frame(.line).bytes
        let head =
            "HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n"
            + "Connection: close\r\n\r\n"
        var buffer = ByteBufferAllocator().buffer(capacity: head.utf8.count + body.count)
        buffer.writeString(head)
        buffer.writeBytes(body)
        state.withLock { state in
            if state.phase != .closed { state.phase = .finishing }
        }
        wire.write(buffer)
        wire.flush()
        wire.finish()
    }

    /// The client has ended its output: running calls get their replies, then the connection closes.
    func inputEnded() {
        let lost = state.withLock { state in
            if state.phase == .open { state.phase = .ending }
            state.mayOwe = wire.isSocket
            return state.calls.inputEnded()
        }
        lose(lost)
        dispatch?.inputEnded()
        perform(state.withLock { Effects(flush: $0.wantsFlush()) })
        startPadding()
    }

    /// Interval for checking whether the work of a half-closed client is over.
    private static let debtInterval = TimeAmount.milliseconds(25)

    /// The client sends no more, and all its calls have replies: closes once no event is due to the client. On the
    /// loop.
    private func settleDebts() {
        guard !owes.load(ordering: .relaxed) else { return }
        guard dispatch?.owes == true else {
            perform(
                state.withLock { state in
                    state.mayOwe = false
                    return Effects(flush: state.wantsFlush())
                })
            return
        }
        owes.store(true, ordering: .relaxed)
        // calls that ended meanwhile may have left unread output
        dispatch?.inputEnded()
        _ = loop.scheduleTask(in: Self.debtInterval) {
            self.owes.store(false, ordering: .relaxed)
            self.perform(self.state.withLock { Effects(flush: $0.wantsFlush()) })
        }
    }

    /// Refuses new calls, and closes when the running calls have replies.
    func drain() {
        perform(
            state.withLock { state in
                state.calls.stop()
                if state.phase == .open { state.phase = .ending }
                return Effects(flush: state.wantsFlush())
            })
    }

    /// Sends spaces: socat gives up half a second after its input ended unless bytes come, and white space before a
    /// JSON text means nothing (protocol section 3.6).
    private func startPadding() {
        let framing = state.withLock { $0.framing }
        guard setting.pad, wire.isSocket, framing == .line else { return }
        let task = loop.scheduleRepeatedTask(initialDelay: .milliseconds(250), delay: .milliseconds(250)) { task in
            let (over, wanted) = self.state.withLock { state in
                let owes = state.calls.owedReplies > 0 || self.owes.load(ordering: .relaxed)
                // the first bytes of a line must tell whether raw bytes follow
                return (state.phase != .ending, owes && state.isWritten && !state.terms.rawBodies)
            }
            if over { task.cancel() }
            if wanted, !over, self.wire.isWritable {
                self.wire.write(ByteBuffer(string: " "))
                self.wire.flush()
            }
        }
        padding.withLock { $0 = task }
    }

    /// The client is gone, or given up: cancels everything that belongs to the client. On the loop; a second call has
    /// no effect.
    func gone() {
        struct Leftovers {
            var running: [RunningCall]
            var callbacks: [Int64]
            var waiters: [CheckedContinuation<Void, any Error>]
            var raw: RawConnection?
        }
        let leftovers: Leftovers? = state.withLock { state in
            guard state.phase != .closed else { return nil }
            state.phase = .closed
            let (_, callbacks) = state.calls.close()
            defer {
                state.waiters = [:]
                state.dropOutput(setting.limits.outbox)
            }
            return Leftovers(
                running: state.calls.handles, callbacks: callbacks, waiters: Array(state.waiters.values),
                raw: state.raw)
        }
        guard let leftovers else { return }
        padding.withLock { $0.take() }?.cancel()
        for call in leftovers.running { call.cancel() }
        leftovers.raw?.gone()
        feedBox.withLock { $0.take() }?.value.end()
        lose(leftovers.callbacks)
        for waiter in leftovers.waiters { waiter.resume(throwing: RPCError(.clientGone, "the client is gone")) }
        // objects of the client may refer to the connection, as callbacks of a session do
        dispatchBox.withLock { $0.take() }?.close()
        service.tally.connections.count(-1)
        service.closed(self)
    }

    /// Cancels every running call; each still gets a reply.
    func cancelAll() {
        let running = state.withLock { $0.calls.handles }
        for call in running { call.cancel() }
    }

    private func lose(_ callbacks: [Int64]) {
        for callback in callbacks {
            let error = RPCError(.clientGone, "the client is gone, or has ended its input")
            state.withLock { $0.settle(callback, .failure(error)) }?.resume(throwing: error)
        }
    }
}
