// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
import OutriderJSON
package import OutriderRPC
import Synchronization

/// What comes in for one stream, or for several that each get all of it.
///
/// A producer is one task that calls, in this order and one at a time:
///
///     begin ─▶ take … take ─▶ bodyEnded ─▶ end
///       ▲                         │
///       └──── another answer ─────┘
///
/// So one answer after the other can stand behind the same streams. Each call returns when more may come: when every
/// stream holds no whole item that its client has credit for, or reads ahead of. Memory is bounded by that alone; the
/// slowest stream sets the pace of all streams here, and of nobody else.
///
/// `take` and `bodyEnded` throw when nobody wants more: the last stream was closed, an item ended it, or the task was
/// cancelled. Whoever waits for the network then hears of it by `whenUnwanted`. After `end` nothing more is taken; it
/// returns when every push stream has sent its `event.end`. Nothing at all is sent before `release`, which belongs behind
/// the reply that names the streams.
package final class StreamHub: Sendable {
    private struct Contents {
        var streams: [ReadStream] = []
        var unwanted: (@Sendable (HTTPFailure) -> Void)?
        /// Why nobody wants more.
        var reason: HTTPFailure?
        var hasBegun = false
        /// Nothing goes out before the reply that names the streams.
        var isHeld = true
        var isOver = false
        /// The producer does not wait any more until streams want more.
        var isHastened = false
        /// The request whose body it is.
        weak var exchange: Exchange?
    }

    private let peer: any Peer
    private let monitor: Monitor?
    private let cancelsOnError: Bool
    private let contents = Mutex(Contents())
    /// Wakes the producer.
    private let bell = Bell()

    /// - Parameters:
    ///   - cancelsOnError: whether an item that is wrong ends all streams.
    ///   - monitor: where it is said what happens; nil for nowhere.
    package init(_ peer: any Peer, cancelsOnError: Bool = false, monitor: Monitor? = nil) {
        self.peer = peer
        self.monitor = monitor
        self.cancelsOnError = cancelsOnError
    }

    /// One more stream, which belongs to the call's client. Before the producer begins. Throws `tooMany`.
    package func open(
        _ scanner: any ItemScanner, as look: ItemLook, _ mode: StreamMachine.Mode, isBatched: Bool = false,
        in call: Call<ClientScope>
    ) throws(RPCError) -> ReadStream {
        let machine = StreamMachine(
            mode, scanner, isBatched: isBatched, endsOnError: cancelsOnError,
            longest: call.peer.terms.maxMessageBytes)
        let stream = ReadStream(machine, look, of: self, in: call.scope.handles)
        try call.scope.handles.keep(stream, as: stream.handle)
        contents.withLock { $0.streams.append(stream) }
        tell(.streamOpened) { .handle(stream.handle.name, size: nil) }
        return stream
    }

    /// What is told of its streams is about that request from now on.
    func belongs(to exchange: Exchange) { contents.withLock { $0.exchange = exchange } }

    /// Says what happens to a stream, if anybody wants to know. Not under a lock.
    func tell(_ topic: MonitorTopic, _ detail: () -> MonitorDetail) {
        guard let monitor, monitor.wants(topic), let exchange = contents.withLock({ $0.exchange }) else { return }
        exchange.tell(topic, detail)
    }

    /// Forgets all streams, which nobody has heard of yet.
    package func discard() {
        for stream in streams { stream.discard() }
    }

    /// Tells once when nobody wants more, and why; at once if that is so already. Must return quickly.
    package func whenUnwanted(_ tell: @escaping @Sendable (HTTPFailure) -> Void) {
        let reason = contents.withLock { contents in
            if contents.reason == nil { contents.unwanted = tell }
            return contents.reason
        }
        if let reason { tell(reason) }
    }

    /// The streams have been named to their client: items may flow. Before that they wait.
    package func release() {
        contents.withLock { $0.isHeld = false }
        bell.ring()
    }

    // MARK: what the producer does

    /// Whether bytes came: what failed later than that is not repeated, for nothing is taken back.
    package var hasBegun: Bool { contents.withLock { $0.hasBegun } }

    /// A body begins, of so many bytes if that is known. Throws why none of the streams can look at it.
    package func begin(contentType: String?, size: Int?) throws(HTTPFailure) {
        for stream in streams { stream.begin(contentType: contentType, size: size) }
        try check()
    }

    package func take(_ bytes: [UInt8]) async throws(HTTPFailure) {
        contents.withLock { $0.hasBegun = true }
        for stream in streams { stream.feed(bytes) }
        try await settle()
    }

    /// The same for bytes that some streams can pass on as they lie.
    func take(_ chunk: BodyChunk) async throws(HTTPFailure) {
        contents.withLock { $0.hasBegun = true }
        var bytes: [UInt8]?
        for stream in streams where !stream.pass(chunk) {
            let copy = bytes ?? chunk.bytes
            bytes = copy
            stream.feed(copy)
        }
        try await settle()
    }

    /// From now on `take` delivers what it can, and returns.
    func hasten() {
        contents.withLock { $0.isHastened = true }
        bell.ring()
    }

    /// The same at the end, without waiting until streams want it.
    func give(_ bytes: [UInt8]) {
        for stream in streams { stream.feed(bytes) }
    }

    /// Tells all streams how their WebSocket was closed; the record is for those whose records a second connection carries.
    func close(with close: SocketClose?, _ record: [UInt8]) {
        for stream in streams { stream.close(with: close, record) }
    }

    package func bodyEnded() async throws(HTTPFailure) {
        for stream in streams { stream.bodyEnded() }
        try await settle()
    }

    package func end(_ failure: HTTPFailure?) async {
        let streams = contents.withLock { contents in
            contents.isOver = true
            contents.unwanted = nil
            defer { contents.streams = [] }
            return contents.streams
        }
        for stream in streams { stream.sourceEnded(failure) }
        // a cancelled task cannot wait, so another one tells the end
        if Task.isCancelled {
            await Task { await self.finish(streams) }.value
        } else {
            await finish(streams)
        }
    }

    // MARK: delivering

    private var streams: [ReadStream] { contents.withLock { $0.streams } }

    private func check() throws(HTTPFailure) {
        if let reason = contents.withLock({ $0.reason }) { throw reason }
        if Task.isCancelled { throw HTTPFailure(.explicitlyCancelled, "the stream was cancelled", sent: .sent) }
    }

    /// Delivers until every stream wants more.
    private func settle() async throws(HTTPFailure) {
        var paused: [ReadStream] = []
        while true {
            var full: [ReadStream] = []
            for stream in streams where await deliver(stream) == .full { full.append(stream) }
            for stream in full where !paused.contains(where: { $0 === stream }) { tell(.streamPaused, stream) }
            for stream in paused where !full.contains(where: { $0 === stream }) { tell(.streamResumed, stream) }
            paused = full
            try check()
            if full.isEmpty || contents.withLock({ $0.isHastened }) { return }
            await bell.wait()
        }
    }

    private func tell(_ topic: MonitorTopic, _ stream: ReadStream) {
        tell(topic) { .handle(stream.handle.name, size: nil) }
    }

    /// Delivers what is left of push streams, as far as there is credit for it, and waits for more of that.
    private func finish(_ streams: [ReadStream]) async {
        while true {
            var isOver = true
            for stream in streams where stream.isPushed {
                if await deliver(stream) == .full { isOver = false }
            }
            if isOver { return }
            await bell.wait()
        }
    }

    private func deliver(_ stream: ReadStream) async -> ReadStream.Appetite {
        if contents.withLock({ $0.isHeld }), !stream.isClosed { return .full }
        return await stream.deliver(to: peer)
    }

    // MARK: what streams say

    /// There may be room again.
    func moved() { bell.ring() }

    /// That stream is over: its client closed it, or it ended by itself.
    func left(_ stream: ReadStream, _ failure: HTTPFailure?) {
        let (tell, reason) = contents.withLock { contents -> ((@Sendable (HTTPFailure) -> Void)?, HTTPFailure?) in
            contents.streams.removeAll { $0 === stream }
            guard !contents.isOver, contents.reason == nil else { return (nil, nil) }
            guard contents.streams.isEmpty || (cancelsOnError && failure != nil) else { return (nil, nil) }
            contents.reason = failure ?? HTTPFailure(.explicitlyCancelled, "the stream was closed", sent: .sent)
            defer { contents.unwanted = nil }
            return (contents.unwanted, contents.reason)
        }
        bell.ring()
        if let tell, let reason { tell(reason) }
    }
}
