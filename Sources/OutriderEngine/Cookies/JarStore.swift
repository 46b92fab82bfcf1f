// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The state of a jar on disk, for display.
package struct JarStoreState: Sendable, Equatable {
    package var path: String
    /// The reason why changes are not written at present; nil without a problem.
    package var problem: String?
}

/// The store of a jar: changes wait here and are written in batches by the thread of all jars.
///
/// Responsible for: batches, retries after failures, waiters of a commit.
/// Not responsible for: statements (`JarDatabase`); the choice of files (`JarFiles`).
final class JarStore: Sendable {
    /// A single thread for all jars, which ends when idle.
    static let thread = BlockingThreads(1, name: "cookies")

    private struct State {
        /// The newest row of each cookie that is not on the disk yet.
        var pending: [Cookie.Identity: JarRow] = [:]
        /// Those of `pending` that only tell of a use: a change by another process is newer.
        var uses: Set<Cookie.Identity> = []
        var waiting: [JarCommit] = []
        var isScheduled = false
        /// Nothing is written before this time, in seconds of `Clocks.awake`.
        var retryAt = 0.0
        var problem: String?
        /// The last notable event since the store was opened.
        var notice: String?
        /// Changes waited for the disk when the keeper was told last.
        var isKept = false
        /// A time for the next try is set.
        var isTrying = false

        var isPaused: Bool { Clocks.awake < retryAt }
        var hasChanges: Bool { pending.keys.contains { !uses.contains($0) } }
    }

    private let worker: JarWorker
    private let state = Mutex(State())
    /// Called with each batch, on the thread.
    private let listener = Mutex<(@Sendable (JarNews) -> Void)?>(nil)

    /// Told whether the memory alone has changes, on the thread.
    private let keeper = Mutex<(@Sendable (Bool) -> Void)?>(nil)

    init(_ worker: JarWorker) { self.worker = worker }

    deinit {
        let worker = worker
        let (rows, uses) = state.withLock { (Array($0.pending.values), $0.uses) }
        Self.thread.run(for: .service, isOwed: true) {
            // last chance for rows that a full disk kept back
            if !rows.isEmpty {
                do throws(JarFailure) { _ = try worker.sync(rows, uses: uses, now: CookieClock.now) } catch {}
            }
            worker.close()
        }
    }

    /// Changes with each commit of any process, and with the removal of the directory. A short read of a small file.
    var mark: UInt64 { worker.lock.map { $0.isRemoved ? .max : $0.changes } ?? 0 }

    /// Whether the jar has a directory. Without one, the cookies are in memory only.
    var hasPlace: Bool { worker.lock != nil }

    /// Nil without a directory.
    var generation: UInt64? { worker.lock?.generation }

    /// False without a directory, and on a disk that takes no change.
    func raiseGeneration() -> Bool {
        worker.lock?.raiseGeneration() ?? false
    }

    var storeState: JarStoreState {
        JarStoreState(path: worker.files.directory, problem: state.withLock { $0.problem ?? $0.notice })
    }

    /// Why the last changes are in memory only; nil if they are on the disk, or on their way.
    var unwritten: String? { state.withLock { $0.hasChanges ? $0.problem : nil } }

    func keep(by keeper: @escaping @Sendable (Bool) -> Void) { self.keeper.withLock { $0 = keeper } }

    func listen(_ listener: @escaping @Sendable (JarNews) -> Void) { self.listener.withLock { $0 = listener } }

    // MARK: for the jar

    /// Writes rows; the commit ends once they are on the disk, or have failed for now.
    func write(_ rows: [JarRow]) -> JarCommit? {
        guard !rows.isEmpty else { return nil }
        return enqueue(rows, isWaitedFor: true)
    }

    /// The same without a waiter.
    func rewrite(_ rows: [JarRow]) { _ = enqueue(rows, isWaitedFor: false) }

    /// Writes when cookies were used last, unless another process changes the cookies.
    func touch(_ rows: [JarRow]) { _ = enqueue(rows, isWaitedFor: false, areUses: true) }

    /// Reads the changes of other processes.
    func read() -> JarCommit { enqueue([], isWaitedFor: true) }

    /// Whether a change of the cookie waits to be written.
    func isPending(_ identity: Cookie.Identity) -> Bool {
        state.withLock { $0.pending[identity] != nil && !$0.uses.contains(identity) }
    }

    private func enqueue(_ rows: [JarRow], isWaitedFor: Bool, areUses: Bool = false) -> JarCommit {
        let commit = JarCommit()
        let begins = state.withLock { state in
            for row in rows {
                // the use of a cookie that is to be written anyway is part of the change
                if !areUses {
                    state.uses.remove(row.identity)
                } else if state.pending[row.identity] == nil {
                    state.uses.insert(row.identity)
                }
                state.pending[row.identity] = row
            }
            if isWaitedFor { state.waiting.append(commit) }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if begins { Self.thread.run(for: .service, isOwed: true) { self.work() } }
        return commit
    }

    /// Seals the values; on a thread of its own.
    func seal() async throws(JarFailure) {
        let result = await withUnsafeContinuation {
            (continuation: UnsafeContinuation<Result<Void, JarFailure>, Never>) in
            Self.thread.run(for: .service, isOwed: true) {
                continuation.resume(returning: Result { () throws(JarFailure) in try self.worker.seal() })
            }
        }
        try result.get()
    }

    // MARK: on the thread

    private func work() {
        let now = CookieClock.now
        let (batch, uses, waiting) = state.withLock { state -> (Batch, Set<Cookie.Identity>, [JarCommit]) in
            defer { state.waiting = [] }
            guard !state.isPaused else { return ([:], [], state.waiting) }
            defer { (state.pending, state.uses) = ([:], []) }
            return (state.pending, state.uses, state.waiting)
        }
        var news: JarNews
        do throws(JarFailure) {
            news = try worker.sync(Array(batch.values), uses: uses, now: now)
            state.withLock { if !$0.isPaused { $0.problem = nil } }
            dropUses(news)
        } catch {
            // a jar that could not be read for now is read again at its next use; one that cannot be read starts empty
            let isUnread = worker.isBehind || !worker.hasRead && error.reason == .busy
            news = JarNews(mark: isUnread ? mark &- 1 : mark)
            giveBack(batch, uses, error)
        }
        state.withLock { $0.notice = worker.notice }
        listener.withLock { $0 }?(news)
        tellKeeper()
        tryLater()
        for commit in waiting { commit.finish() }
        let goesOn = state.withLock { state in
            let isMore = !state.waiting.isEmpty || !state.pending.isEmpty && !state.isPaused
            state.isScheduled = isMore
            return isMore
        }
        guard goesOn else { return }
        worker.pause()
        Self.thread.run(for: .service, isOwed: true) { self.work() }
    }

    private func tellKeeper() {
        let isKept = state.withLock { state -> Bool? in
            let isKept = state.problem != nil && state.hasChanges
            defer { state.isKept = isKept }
            return isKept == state.isKept ? nil : isKept
        }
        if let isKept { keeper.withLock { $0 }?(isKept) }
    }

    /// Seconds after which a kept jar is tried again that sees no other use.
    private static let trialPause = 60.0

    private func tryLater() {
        let isFirst = state.withLock { state in
            defer { state.isTrying = state.isTrying || state.isKept }
            return state.isKept && !state.isTrying
        }
        guard isFirst else { return }
        // Ends with the pause.
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(Self.trialPause))
            self?.tryNow()
        }
    }

    private func tryNow() {
        state.withLock { $0.isTrying = false }
        _ = enqueue([], isWaitedFor: false)
    }

    private typealias Batch = [Cookie.Identity: JarRow]

    /// Uses of cookies that another process has changed or removed meanwhile are not written.
    private func dropUses(_ news: JarNews) {
        state.withLock { state in
            for identity in news.isReplaced ? Array(state.uses) : news.rows.map(\.identity) {
                if state.uses.remove(identity) != nil { state.pending[identity] = nil }
            }
        }
    }

    /// The jar in memory continues; the rows are written when there is room again.
    private func giveBack(_ batch: Batch, _ uses: Set<Cookie.Identity>, _ failure: JarFailure) {
        let seconds = failure.reason == .busy || !hasPlace ? 1.0 : 60
        let count = state.withLock { state in
            for identity in batch.keys {
                if !uses.contains(identity) {
                    state.uses.remove(identity)
                } else if state.pending[identity] == nil {
                    state.uses.insert(identity)
                }
            }
            state.pending.merge(batch) { newer, _ in newer }
            state.retryAt = Clocks.awake + seconds
            state.problem = failure.message
            return state.pending.count
        }
        guard count > Self.mostPending else { return }
        // a deletion matters only to a cookie on the disk; a disk that cannot be read may hold any cookie
        let stored = worker.identities()
        guard stored != nil || count > Self.mostUnread else { return }
        state.withLock { state in
            state.pending = state.pending.filter { !$0.value.isGone || stored?.contains($0.key) ?? false }
        }
    }

    private static let mostPending = 2 * CookieJar.mostInAll
    /// Limit of rows for a disk that cannot be read.
    private static let mostUnread = 10 * mostPending
}
