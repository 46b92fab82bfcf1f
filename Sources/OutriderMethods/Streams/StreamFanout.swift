// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderEngine
package import OutriderHTTP
package import OutriderRPC
import Synchronization

/// Distributes a source to a stream, or to several streams that each get all of the source.
///
/// A producer is a single task that makes these calls in order, one at a time:
///
///     begin ─▶ take … take ─▶ bodyEnded ─▶ end
///       ▲                         │
///       └─── another response ────┘
///
/// So several responses in a row can feed the same streams. Each call returns when more may come: when every stream
/// holds no whole item that its client has credit for, or reads ahead of. This alone bounds the memory; the slowest
/// stream sets the pace of the streams of this hub, and of no others.
///
/// `take` and `bodyEnded` throw when the rest is unwanted: the last stream was closed, an item ended the hub, or the
/// task was cancelled. `whenUnwanted` tells a producer that waits for the network. After `end` the hub takes nothing
/// more; the call returns when every push stream has sent its `event.end`. The hub sends nothing before `release`,
/// which must follow the reply that names the streams.
package final class StreamFanout: Sendable {
    private struct Contents {
        var streams: [ReadStream] = []
        var unwanted: (@Sendable (HTTPFailure) -> Void)?
        /// Why the rest is unwanted.
        var reason: HTTPFailure?
        var hasBegun = false
        /// Nothing goes out before the reply that names the streams.
        var isHeld = true
        var isOver = false
        /// Why the client wants nothing of what waits behind the end.
        var renunciation: HTTPFailure?
        /// The producer no longer waits for room in the streams.
        var isHastened = false
        /// The request whose body feeds the streams.
        weak var exchange: Exchange?
    }

    private let peer: any Peer
    private let monitor: Monitor?
    private let cancelsOnError: Bool
    private let contents = Mutex(Contents())
    /// Wakes the producer.
    private let signal = AsyncSignal()

    /// - Parameters:
    ///   - cancelsOnError: whether a failed item ends all streams.
    ///   - monitor: gets notes on the streams; nil for none.
    package init(_ peer: any Peer, cancelsOnError: Bool = false, monitor: Monitor? = nil) {
        self.peer = peer
        self.monitor = monitor
        self.cancelsOnError = cancelsOnError
    }

    /// Adds a stream for the call's client. Must precede `begin`. Throws `tooMany`.
    package func open(
        _ scanner: any ItemScanner, as look: ItemLook, _ mode: StreamMachine.Mode, isBatched: Bool = false,
        in call: Call<ClientScope>
    ) throws(RPCError) -> ReadStream {
        let machine = StreamMachine(
            mode, scanner, isBatched: isBatched, endsOnError: cancelsOnError,
            longest: call.peer.terms.maxMessageBytes)
        let stream = ReadStream(machine, look, of: self, in: call.scope.handles, quota: call.scope.quota)
        try call.scope.handles.keep(stream, as: stream.handle)
        contents.withLock { $0.streams.append(stream) }
        tell(.streamOpened) { .handle(stream.handle.name, size: nil) }
        return stream
    }

    /// Attributes notes on the streams to that request from now on.
    func belongs(to exchange: Exchange) { contents.withLock { $0.exchange = exchange } }

    /// Tells monitors about a stream, if the topic is wanted. Not to be called under a lock.
    func tell(_ topic: MonitorTopic, _ detail: () -> MonitorDetail) {
        guard let monitor, monitor.wants(topic), let exchange = contents.withLock({ $0.exchange }) else { return }
        exchange.tell(topic, detail)
    }

    /// Forgets all streams, before any is named to a client.
    package func discard() {
        for stream in streams { stream.discard() }
    }

    /// Calls `tell` once when the rest is unwanted, with the reason; at once if so already. `tell` must return quickly.
    package func whenUnwanted(_ tell: @escaping @Sendable (HTTPFailure) -> Void) {
        let reason = contents.withLock { contents in
            if contents.reason == nil { contents.unwanted = tell }
            return contents.reason
        }
        if let reason { tell(reason) }
    }

    /// The streams have been named to their client: items may flow.
    package func release() {
        contents.withLock { $0.isHeld = false }
        signal.ring()
    }

    // MARK: calls from the producer

    /// Whether bytes came: a later failure is not retried, because delivered bytes cannot be taken back.
    package var hasBegun: Bool { contents.withLock { $0.hasBegun } }

    /// A body begins, of `size` bytes if known. Throws the failure if no stream can read the body.
    package func begin(contentType: String?, size: Int?) throws(HTTPFailure) {
        for stream in streams { stream.begin(contentType: contentType, size: size) }
        try check()
    }

    package func take(_ bytes: [UInt8]) async throws(HTTPFailure) {
        contents.withLock { $0.hasBegun = true }
        for stream in streams { stream.feed(bytes) }
        try await settle()
    }

    /// The same for a chunk that some streams can pass on without copying.
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

    /// Writes bytes to the second connection of the only stream. False if earlier bytes must go first, or without room.
    func pass(_ buffers: [UnsafeRawBufferPointer], _ count: Int) -> Bool {
        let only = contents.withLock { contents -> ReadStream? in
            contents.hasBegun = true
            return contents.streams.count == 1 ? contents.streams.first : nil
        }
        return only?.pass(buffers, count) == true
    }

    /// From now on `take` delivers as much as it can, and returns.
    func hasten() {
        contents.withLock { $0.isHastened = true }
        signal.ring()
    }

    /// Feeds the last bytes, without waiting for room in the streams.
    func give(_ bytes: [UInt8]) {
        for stream in streams { stream.feed(bytes) }
    }

    /// The streams keep memory for the bytes that they hold.
    func keep(_ memory: [MemoryCharge]) {
        for stream in streams { stream.keep(memory) }
    }

    /// Tells all streams how their WebSocket was closed; the record goes to second connections.
    func close(with close: SocketClose?, _ record: [UInt8]) {
        for stream in streams { stream.close(with: close, record) }
    }

    package func bodyEnded() async throws(HTTPFailure) {
        for stream in streams { stream.bodyEnded() }
        try await settle()
    }

    package func end(_ failure: HTTPFailure?) async {
        let (streams, renunciation) = contents.withLock { contents in
            contents.isOver = true
            contents.unwanted = nil
            return (contents.streams, contents.renunciation)
        }
        for stream in streams {
            stream.sourceEnded(failure)
            if let renunciation, stream.isPushed { stream.sourceEnded(renunciation) }
        }
        await finish(streams)
        contents.withLock { $0.streams = [] }
    }

    /// The client cancels the request when its source has ended: push streams drop what waits for credit.
    func renounce(_ failure: HTTPFailure) {
        let streams = contents.withLock { contents in
            contents.renunciation = failure
            return contents.isOver ? contents.streams : []
        }
        for stream in streams where stream.isPushed { stream.sourceEnded(failure) }
        signal.ring()
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
            await signal.wait()
        }
    }

    private func tell(_ topic: MonitorTopic, _ stream: ReadStream) {
        tell(topic) { .handle(stream.handle.name, size: nil) }
    }

    /// Delivers the rest of push streams, as far as credit allows, and waits for more credit.
    private func finish(_ streams: [ReadStream]) async {
        while true {
            // a cancelled task cannot wait, so another task goes on
            if Task.isCancelled { return await Task { await self.finish(streams) }.value }
            var appetites: [ReadStream.Appetite] = []
            for stream in streams where stream.isPushed { appetites.append(await deliver(stream)) }
            if appetites.allSatisfy({ $0 == .over }) { return }
            // the end of a stream follows at once behind a piece that could not be sent
            if !appetites.contains(.hungry) { await signal.wait() }
        }
    }

    private func deliver(_ stream: ReadStream) async -> ReadStream.Appetite {
        if contents.withLock({ $0.isHeld }), !stream.isClosed { return .full }
        return await stream.deliver(to: peer)
    }

    // MARK: calls from streams

    /// A stream may have room again.
    func moved() { signal.ring() }

    /// The stream has ended: by its client, or by itself.
    func left(_ stream: ReadStream, _ failure: HTTPFailure?) {
        let (tell, reason) = contents.withLock { contents -> ((@Sendable (HTTPFailure) -> Void)?, HTTPFailure?) in
            contents.streams.removeAll { $0 === stream }
            guard !contents.isOver, contents.reason == nil else { return (nil, nil) }
            guard contents.streams.isEmpty || (cancelsOnError && failure != nil) else { return (nil, nil) }
            contents.reason = failure ?? HTTPFailure(.explicitlyCancelled, "the stream was closed", sent: .sent)
            defer { contents.unwanted = nil }
            return (contents.unwanted, contents.reason)
        }
        signal.ring()
        if let tell, let reason { tell(reason) }
    }
}
