// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
package import OutriderRPC
import Synchronization

/// A stream of bytes to a client: runs a `StreamMachine` between a source and the client's events or reads.
package final class ByteStream: Holdable {
    package static let kind = HandleKind.stream

    private struct Contents: ~Copyable {
        var machine: StreamMachine
        var failure: JSONText?
        var task: Task<Void, Never>?
        var isRead = false
    }

    private let source: any ByteSource
    private let handle: Handle<ByteStream>
    private let peer: any Peer
    private let contents: Mutex<Contents>
    /// Wakes the task that fetches and sends.
    private let room = Bell()
    /// Wakes the call that reads.
    private let data = Bell()

    private init(_ source: any ByteSource, _ mode: StreamMachine.Mode, _ handle: Handle<ByteStream>, _ peer: any Peer) {
        self.source = source
        self.handle = handle
        self.peer = peer
        contents = Mutex(Contents(machine: StreamMachine(mode, size: source.size)))
    }

    /// A stream that belongs to the call's client, and starts to flow after the call's reply.
    package static func open(
        _ source: any ByteSource, _ mode: StreamMachine.Mode, in call: Call<ClientScope>
    ) throws(RPCError) -> Handle<ByteStream> {
        let handle = Handle<ByteStream>()
        let stream = ByteStream(source, mode, handle, call.peer)
        let handles = call.scope.handles
        try handles.keep(stream, as: handle)
        call.afterReply { stream.start(in: handles) }
        return handle
    }

    // MARK: what methods ask

    /// Adds credit to a push stream; nil if it is none.
    func grant(_ bytes: Int) -> Int? {
        let credit = contents.withLock { $0.machine.grant(bytes) }
        room.ring()
        return credit
    }

    enum Outcome {
        case piece(StreamMachine.Piece, end: Bool, failure: JSONText?)
        case wrongMode
        case busy
        case closed
    }

    /// Waits until there are bytes, the stream ends, or the time is over; then the piece is empty.
    func read(upTo limit: Int, wait: Duration) async throws -> Outcome {
        let isFree = contents.withLock { contents in
            if contents.isRead { return false }
            contents.isRead = true
            return true
        }
        guard isFree else { return .busy }
        defer { contents.withLock { $0.isRead = false } }
        if let outcome = attempt(upTo: limit, isLast: wait <= .zero) { return outcome }
        let deadline = ContinuousClock.now.advanced(by: wait)
        // Ends with this read; only rings.
        let alarm = Task { [data] in
            try? await Task.sleep(until: deadline, clock: .continuous)
            data.ring()
        }
        defer { alarm.cancel() }
        while true {
            await data.wait()
            try Task.checkCancellation()
            if let outcome = attempt(upTo: limit, isLast: ContinuousClock.now >= deadline) { return outcome }
        }
    }

    private func attempt(upTo limit: Int, isLast: Bool) -> Outcome? {
        let outcome: Outcome? = contents.withLock { contents in
            switch contents.machine.read(upTo: limit) {
            case .piece(let piece, let end): .piece(piece, end: end, failure: end ? contents.failure : nil)
            case .wait: isLast ? .piece(contents.machine.readNothing(), end: false, failure: nil) : nil
            case .wrongMode: .wrongMode
            case .stop: .closed
            }
        }
        room.ring()
        return outcome
    }

    /// Ends the stream; when this returns, nothing of it will be sent.
    func end() async {
        close()
        let task = contents.withLock { $0.task }
        await task?.value
    }

    // MARK: Holdable

    package var isAwaited: Bool { contents.withLock { $0.isRead } }

    package func close() {
        let task = contents.withLock { contents in
            contents.machine.close()
            return contents.task
        }
        task?.cancel()
        data.ring()
        room.ring()
    }

    // MARK: running

    private func start(in handles: HandleTable) {
        contents.withLock { contents in
            // Owned by this stream: cancelled by `close`, which the end of the connection calls.
            contents.task = Task { await self.run(in: handles) }
        }
    }

    private func run(in handles: HandleTable) async {
        while true {
            switch contents.withLock({ $0.machine.step() }) {
            case .fetch: await fetch()
            case .wait: await room.wait()
            case .send(let piece): await send(Chunk(stream: handle, piece: piece))
            case .end(let sequence, let size):
                handles.remove(handle)
                let failure = contents.withLock { $0.failure }
                await send(End(stream: handle, sequence: sequence, size: size, failure: failure))
            case .stop: return
            }
        }
    }

    private func fetch() async {
        do throws(StreamFailure) {
            let bytes = try await source.next()
            contents.withLock { contents in
                if let bytes { contents.machine.received(bytes) } else { contents.machine.sourceEnded() }
            }
        } catch {
            contents.withLock { contents in
                contents.failure = error.failure
                contents.machine.sourceEnded()
            }
        }
        data.ring()
    }

    private func send(_ event: some StreamEvent) async {
        do {
            try await peer.notify(Event(event.name, event))
        } catch {
            close()
        }
    }
}
