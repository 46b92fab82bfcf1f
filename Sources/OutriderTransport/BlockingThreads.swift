// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP
import Synchronization

/// Threads for blocking work, so that neither the event loop nor other clients wait: `FairQueue` decides whose work
/// runs next. Threads start on demand and end after ten idle seconds.
package final class BlockingThreads: Sendable {
    package typealias Work = @Sendable () -> Void

    /// Opens, reads, writes, syncs and removes files.
    package static let files = BlockingThreads(64, name: "files")
    /// Looks up host names.
    package static let names = BlockingThreads(64, name: "names", mostWaiting: 512)
    /// For long computations; more threads than processors would only slow down the event loop.
    package static let computing = BlockingThreads(
        max(2, sysconf(CInt(truncatingIfNeeded: _SC_NPROCESSORS_ONLN))), name: "computing")

    private static let idleSeconds = 10

    private struct Job {
        let client: ClientKey
        let work: Work
    }

    private struct State {
        var queue: FairQueue
        var lastID: FairQueue.ID = 0
        var waiting: [FairQueue.ID: Job] = [:]
        /// Jobs with a place but without a thread: only while no thread can be started.
        var ready: [Job] = []
        /// Ordered by last use, the most recent last.
        var idle: [IdleThread] = []
        var threads = 0
    }

    private let name: String
    private let state: Mutex<State>

    /// - Parameters:
    ///   - name: the name of the threads in the system's lists, at most 15 bytes.
    ///   - mostWaiting: limit of waiting jobs per client; further jobs are refused.
    package init(_ threads: Int, name: String, mostWaiting: Int = 10_000) {
        self.name = name
        state = Mutex(State(queue: FairQueue(places: threads, mostWaiting: mostWaiting)))
    }

    /// Runs the work as soon as its client has a place; false if too many jobs of this client wait already.
    ///
    /// - Parameter isOwed: never refuse the work, because it releases a resource.
    @discardableResult
    package func run(for client: ClientKey, isOwed: Bool = false, _ work: @escaping Work) -> Bool {
        let job = Job(client: client, work: work)
        let (isTaken, start) = state.withLock { state -> (Bool, Start?) in
            state.lastID &+= 1
            switch state.queue.enter(state.lastID, for: client, isOwed: isOwed) {
            case .refuse: return (false, nil)
            case .wait:
                state.waiting[state.lastID] = job
                return (true, nil)
            case .run: return (true, Self.place(job, &state))
            }
        }
        if let start { perform(start) }
        return isTaken
    }

    private enum Start {
        case wake(IdleThread)
        case thread(IdleThread)
    }

    private static func place(_ job: Job, _ state: inout State) -> Start {
        let idle = state.idle.popLast()
        let thread = idle ?? IdleThread()
        thread.job = job
        if idle != nil { return .wake(thread) }
        state.threads += 1
        return .thread(thread)
    }

    private func perform(_ start: Start) {
        switch start {
        case .wake(let thread): thread.wake()
        case .thread(let thread):
            guard !DetachedThread.start(name, { self.work(thread) }) else { return }
            // a running thread takes the job; without any, the caller must run the job
            let isAlone = state.withLock { state in
                state.threads -= 1
                if state.threads > 0, let job = thread.job.take() { state.ready.append(job) }
                return state.threads == 0
            }
            if isAlone { work(thread, isThread: false) }
        }
    }

    private func work(_ thread: IdleThread, isThread: Bool = true) {
        var next = state.withLock { _ in thread.job.take() }
        while let client = Self.runOnce(&next) {
            var starts: [Start] = []
            (next, starts) = state.withLock { state in
                var found = state.ready
                for (id, _) in state.queue.leave(client) {
                    if let job = state.waiting.removeValue(forKey: id) { found.append(job) }
                }
                state.ready = []
                let own = found.isEmpty ? nil : found.removeFirst()
                let starts = found.map { Self.place($0, &state) }
                if own == nil, isThread { state.idle.append(thread) }
                return (own, starts)
            }
            for start in starts { perform(start) }
            if next == nil, isThread { next = rest(thread) }
        }
    }

    /// Runs the work and releases it: an idle thread must not keep a file open, or bytes in memory.
    private static func runOnce(_ next: inout Job?) -> ClientKey? {
        guard let job = next.take() else { return nil }
        job.work()
        return job.client
    }

    /// Waits for the next job; nil if the thread should end.
    private func rest(_ thread: IdleThread) -> Job? {
        let isWoken = thread.sleep(seconds: Self.idleSeconds)
        let isOver = state.withLock { state in
            guard !isWoken, let index = state.idle.firstIndex(where: { $0 === thread }) else { return false }
            state.idle.remove(at: index)
            state.threads -= 1
            return true
        }
        if isOver { return nil }
        // a job was assigned at the last moment
        if !isWoken { thread.sleep() }
        return state.withLock { _ in thread.job.take() }
    }

    /// A thread that waits for work.
    // proof: `job` is touched only under the lock of the threads, and `isWoken` only while the mutex is held.
    private final class IdleThread: @unchecked Sendable {
        var job: Job?
        private var isWoken = false
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

        init() {
            pthread_mutex_init(mutex, nil)
            // a calendar that is set meanwhile must not change how long a thread rests
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        }

        deinit {
            pthread_cond_destroy(condition)
            pthread_mutex_destroy(mutex)
            condition.deallocate()
            mutex.deallocate()
        }

        func wake() {
            pthread_mutex_lock(mutex)
            isWoken = true
            pthread_cond_signal(condition)
            pthread_mutex_unlock(mutex)
        }

        func sleep() {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            while !isWoken { pthread_cond_wait(condition, mutex) }
            isWoken = false
        }

        /// Whether `wake` was called in time.
        func sleep(seconds: Int) -> Bool {
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            end.tv_sec += seconds
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            while !isWoken, pthread_cond_timedwait(condition, mutex, &end) == 0 {}
            defer { isWoken = false }
            return isWoken
        }
    }
}
