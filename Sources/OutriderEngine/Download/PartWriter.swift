// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// Brings one range of a body into the file, on another thread than the one that reads the network.
///
/// While one batch is being written the next is gathered; beyond `mostBytes` of that, reading waits. What is gathered is
/// written at once while nothing else is, or soon: a slow server's bytes are not kept from the disk.
final class PartWriter: Sendable {
    /// Bytes worth a trip to the other thread.
    private static let batchBytes = 512 << 10
    /// Bytes that may wait beside those that are being written.
    private static let mostBytes = 2 << 20
    /// Seconds after which even a little is written.
    private static let patience = 0.05

    private struct State {
        var gathered: [ByteBuffer] = []
        var gatheredBytes = 0
        /// Where the gathered bytes belong.
        var offset: Int64
        var isWriting = false
        var failure: HTTPFailure?
        /// Whoever waits for room, or for the end.
        var waiter: UnsafeContinuation<Void, Never>?
        var lastStart = ContinuousClock.now - .seconds(1)
        var hasAlarm = false
    }

    private let file: PartialFile
    private let executors: LoopExecutors
    private let state: Mutex<State>

    init(_ file: PartialFile, at offset: Int64, _ executors: LoopExecutors) {
        self.file = file
        self.executors = executors
        state = Mutex(State(offset: offset))
    }

    /// One caller at a time.
    func take(_ chunk: ByteBuffer) async throws(HTTPFailure) {
        let now = ContinuousClock.now
        let (starts, waits, needsAlarm) = state.withLock { state in
            state.gathered.append(chunk)
            state.gatheredBytes += chunk.readableBytes
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
        Task(executorPreference: globalConcurrentExecutor) { self.write() }
    }

    private func write() {
        while true {
            let (pieces, offset) = state.withLock { state in
                defer {
                    state.offset &+= Int64(state.gatheredBytes)
                    state.gathered = []
                    state.gatheredBytes = 0
                }
                return (state.gathered, state.offset)
            }
            var failure: HTTPFailure?
            do throws(HTTPFailure) {
                try file.write(pieces, at: offset)
            } catch {
                failure = error
            }
            if failure == nil, file.isSaveDue() { saveBeside() }
            let (goesOn, waiter) = state.withLock { state in
                state.failure = failure
                state.isWriting = failure == nil && state.gatheredBytes >= Self.batchBytes
                defer { state.waiter = nil }
                return (state.isWriting, state.waiter)
            }
            waiter?.resume()
            if !goesOn { return }
        }
    }

    /// Writing goes on meanwhile: what is written down is what had reached the medium.
    private func saveBeside() {
        let file = file
        Task(executorPreference: globalConcurrentExecutor) { _ = file.save() }
    }
}
