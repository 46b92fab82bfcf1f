// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Work on a cassette's file, on another thread: the entries of some milliseconds one after the other.
final class RecordingQueue: Sendable {
    typealias Work = @Sendable (CassetteFile) -> Void
    private typealias Waiter = CheckedContinuation<Void, Never>

    /// Microseconds in which entries gather. A thread that woke up for each would cost more than its writing.
    private static let gathering: UInt32 = 4000

    private struct State {
        var file: CassetteFile?
        var work: [Work] = []
        var isRunning = false
        /// Nothing more comes.
        var isEnding = false
        /// These wait for the end of all work.
        var waiters: [Waiter] = []
        /// These wait for the work that was added before.
        var settlers: [Waiter] = []
    }

    private let state: Mutex<State>

    init(_ file: CassetteFile) { state = Mutex(State(file: file)) }

    func add(_ work: @escaping Work) {
        let starts = state.withLock { state in
            state.work.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { BlockingThreads.files.run(for: .service, isOwed: true) { self.run() } }
    }

    private func run() {
        while true {
            if !state.withLock({ $0.isEnding }) { usleep(Self.gathering) }
            let (work, file, settlers) = state.withLock { state -> ([Work], CassetteFile?, [Waiter]) in
                defer { (state.work, state.settlers) = ([], []) }
                if state.work.isEmpty { state.isRunning = false }
                return (state.work, state.file, state.settlers)
            }
            if let file { work.forEach { $0(file) } }
            settlers.forEach { $0.resume() }
            if work.isEmpty { break }
        }
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Waits for the work that was added before.
    func settle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.isRunning { state.settlers.append(continuation) }
                return !state.isRunning
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Waits for the work, and closes the file.
    func end() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isEnding = true
                if !state.isRunning { return true }
                state.waiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
        await offLoop(owedTo: .service) { self.close() }
    }

    /// The same, blocking.
    func endNow() {
        while state.withLock({ state in
            state.isEnding = true
            return state.isRunning
        }) {
            usleep(200)
        }
        close()
    }

    private func close() {
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        file?.sync()
    }
}
