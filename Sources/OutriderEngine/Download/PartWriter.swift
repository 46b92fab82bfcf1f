// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Brings one range of a body into the file, on another thread than the one that reads the network.
///
/// While one batch is being written the next is gathered; beyond `mostBytes` of that, reading waits. What is gathered is
/// written at once while nothing else is, or soon: a slow server's bytes are not kept from the disk.
///
/// Bytes are copied into buffers that are used again and again: the copy costs less than new memory for each read of the
/// network, which the kernel would have to clear first.
final class PartWriter: Sendable {
    /// Bytes worth a trip to the other thread.
    private static let batchBytes = 512 << 10
    /// Bytes that may wait beside those that are being written.
    private static let mostBytes = 1 << 20
    /// So many bytes are given to the medium at once. The sync in the end then finds little left to wait for.
    private static let pushBytes: Int64 = 8 << 20
    /// Buffers that wait to be filled again.
    private static let freeCount = 3
    /// Seconds after which even a little is written.
    private static let patience = 0.05

    private struct State {
        var gathered: [ByteBuffer] = []
        var gatheredBytes = 0
        /// Written, and to be filled again.
        var free: [ByteBuffer] = []
        /// Where the gathered bytes belong.
        var offset: Int64
        var isWriting = false
        var failure: HTTPFailure?
        /// Whoever waits for room, or for the end.
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

        /// They are written. The caller keeps none: what two hold would be copied when it is filled.
        mutating func take(back pieces: inout [ByteBuffer]) {
            free += pieces.prefix(PartWriter.freeCount - free.count)
            pieces = []
        }
    }

    /// What only the one batch that is being written touches.
    private struct Ground {
        /// What lies before has room.
        var reserved: Int64
        /// What lies before has been given to the medium.
        var pushed: Int64
    }

    private let file: PartialFile
    private let client: ClientKey
    private let executors: LoopExecutors
    private let state: Mutex<State>
    private let ground: Mutex<Ground>
    /// Where the range ends; Int64.max where that is not known.
    private let end: Int64

    init(_ file: PartialFile, _ range: Range<Int64>, _ executors: LoopExecutors, for client: ClientKey) {
        self.file = file
        self.client = client
        self.executors = executors
        end = range.upperBound
        state = Mutex(State(offset: range.lowerBound))
        ground = Mutex(Ground(reserved: range.lowerBound, pushed: range.lowerBound))
    }

    /// One caller at a time.
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

    /// Waits until all is written.
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

    /// Until a batch is written, unless there is no need.
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

    /// Writes until there is less than a batch. Runs beside the exchange, which waits for its end in `finish`.
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

    /// Room for the next bytes of a long range, more than one batch of them.
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

    /// Writing goes on meanwhile: what is written down is what had reached the medium.
    private func saveBeside() {
        let file = file
        BlockingThreads.files.run(for: client, isOwed: true) { _ = file.save() }
    }
}
