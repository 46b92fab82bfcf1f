// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Writes a range of a body to the file, on a thread for files.
///
/// During the write of a batch the next is gathered; above `mostBytes` of that, reading waits. Gathered bytes are
/// written at once if no write is under way, or after a short delay, so a slow server's bytes reach the disk, too.
///
/// Bytes are copied into reused buffers: the copy costs less than new memory for each read from the network, which the
/// kernel would have to clear first.
final class PartWriter: Sendable {
    /// Bytes per batch.
    private static let batchBytes = 512 << 10
    /// Limit of the gathered bytes, beside those being written.
    private static let mostBytes = 1 << 20
    /// Bytes per request to start writing to disk, so that the final sync has little left to do.
    private static let pushBytes: Int64 = 8 << 20
    /// Limit of the buffers kept for reuse.
    private static let freeCount = 3
    /// Seconds after which even a small batch is written.
    private static let patience = 0.05

    private struct State {
        var gathered: [ByteBuffer] = []
        var gatheredBytes = 0
        /// Written buffers, for reuse.
        var free: [ByteBuffer] = []
        /// The file offset of the gathered bytes.
        var offset: Int64
        var isWriting = false
        var failure: HTTPFailure?
        /// The reader, waiting for room or for the end.
        var waiter: UnsafeContinuation<Void, Never>?
        var lastStart = ContinuousClock.now - .seconds(1)
        var hasAlarm = false

        mutating func gather(_ chunk: ByteBuffer) {
            var chunk = chunk
            gatheredBytes += chunk.readableBytes
            while chunk.readableBytes > 0 {
                if gathered.last.map({ $0.writableBytes == 0 }) ?? true {
                    var room = free.popLast() ?? ByteBufferAllocator().buffer(capacity: PartWriter.batchBytes)
                    room.clear()
                    gathered.append(room)
                }
                let last = gathered.count - 1
                let count = min(chunk.readableBytes, gathered[last].writableBytes)
                if let part = chunk.readSlice(length: count) { gathered[last].writeImmutableBuffer(part) }
            }
        }

        /// Returns written buffers for reuse. The caller keeps none: a buffer with two owners would be copied when
        /// filled.
        mutating func take(back pieces: inout [ByteBuffer]) {
            free += pieces.prefix(PartWriter.freeCount - free.count)
            pieces = []
        }
    }

    /// State of the batch that is being written.
    private struct Ground {
        /// The disk space is reserved up to this offset.
        var reserved: Int64
        /// The write to disk was started up to this offset.
        var pushed: Int64
    }

    private let file: PartialFile
    private let client: ClientKey
    private let executors: LoopExecutors
    private let state: Mutex<State>
    private let ground: Mutex<Ground>
    /// The end of the range; `Int64.max` if unknown.
    private let end: Int64

    init(_ file: PartialFile, _ range: Range<Int64>, _ executors: LoopExecutors, for client: ClientKey) {
        self.file = file
        self.client = client
        self.executors = executors
        end = range.upperBound
        state = Mutex(State(offset: range.lowerBound))
        ground = Mutex(Ground(reserved: range.lowerBound, pushed: range.lowerBound))
    }

    /// Calls must not overlap.
    func take(_ chunk: ByteBuffer) async throws(HTTPFailure) {
        let now = ContinuousClock.now
        let (starts, waits, needsAlarm) = state.withLock { state in
            state.gather(chunk)
            let isDue = state.gatheredBytes >= Self.batchBytes || now - state.lastStart > .seconds(Self.patience)
            let starts = !state.isWriting && state.failure == nil && isDue
            if starts {
                state.isWriting = true
                state.lastStart = now
            }
            let needsAlarm = !starts && !state.hasAlarm
            if needsAlarm { state.hasAlarm = true }
            return (starts, state.isWriting && !starts && state.gatheredBytes >= Self.mostBytes, needsAlarm)
        }
        if starts { begin() }
        if needsAlarm { _ = executors.later(seconds: Self.patience) { [weak self] in self?.ring() } }
        if waits { await pause { $0.gatheredBytes < Self.mostBytes } }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Waits until all bytes are written.
    func finish() async throws(HTTPFailure) {
        while true {
            let (starts, isDone) = state.withLock { state in
                if state.isWriting { return (false, false) }
                if state.failure != nil || state.gathered.isEmpty { return (false, true) }
                state.isWriting = true
                return (true, false)
            }
            if isDone { break }
            if starts { begin() }
            await pause { _ in false }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Waits for the end of a batch, unless the condition holds.
    private func pause(unless isFine: @escaping @Sendable (borrowing State) -> Bool) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let waits = state.withLock { state in
                guard state.isWriting, !isFine(state) else { return false }
                state.waiter = continuation
                return true
            }
            if !waits { continuation.resume() }
        }
    }

    private func ring() {
        let starts = state.withLock { state in
            state.hasAlarm = false
            guard !state.isWriting, state.failure == nil, !state.gathered.isEmpty else { return false }
            state.isWriting = true
            return true
        }
        if starts { begin() }
    }

    /// Writes until less than a batch is left. Runs beside the exchange, which waits in `finish`.
    private func begin() {
        BlockingThreads.files.run(for: client, isOwed: true) { self.write() }
    }

    private func write() {
        while true {
            var (pieces, range) = state.withLock { state in
                let start = state.offset
                state.offset &+= Int64(state.gatheredBytes)
                defer {
                    state.gathered = []
                    state.gatheredBytes = 0
                }
                return (state.gathered, start..<state.offset)
            }
            reserve(upTo: range.upperBound, from: range.lowerBound)
            var failure: HTTPFailure?
            do throws(HTTPFailure) {
                try file.write(pieces, at: range.lowerBound)
                push(upTo: range.upperBound)
            } catch {
                failure = error
            }
            if failure == nil, file.isSaveDue() { saveBeside() }
            let (goesOn, waiter) = state.withLock { state in
                state.take(back: &pieces)
                state.failure = failure
                state.isWriting = failure == nil && state.gatheredBytes >= Self.batchBytes
                defer { state.waiter = nil }
                return (state.isWriting, state.waiter)
            }
            waiter?.resume()
            if !goesOn { return }
        }
    }

    /// Reserves disk space for the next bytes of a long range, more than a batch.
    private func reserve(upTo most: Int64, from start: Int64) {
        guard end < .max, most > ground.withLock({ $0.reserved }) else { return }
        let reserved = min(end, start &+ PartialFile.reserveBytes)
        ground.withLock { $0.reserved = file.reserve(start..<max(start, reserved)) ? reserved : .max }
    }

    private func push(upTo end: Int64) {
        let range = ground.withLock { ground -> Range<Int64>? in
            guard end &- ground.pushed >= Self.pushBytes else { return nil }
            defer { ground.pushed = end }
            return ground.pushed..<end
        }
        if let range { file.push(range) }
    }

    /// Saves the journal while writing continues: the journal lists only bytes that were synced.
    private func saveBeside() {
        let file = file
        BlockingThreads.files.run(for: client, isOwed: true) { _ = file.save() }
    }
}
