// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The logins under way, by credential, and the results of the last ones.
final class LoginAttempts: Sendable {
    /// An attempt that waits for the response.
    struct Waiting: Sendable {
        var attempt: LoginAttempt
        /// The owner of the response, even if the name belongs to another credential by then.
        var credential: SharedCredential
        var keys: String?
        var listener: LoopbackListener?
        var alarm: ScheduledWork
    }

    private struct Entry {
        let number: Int
        /// Nil once the response is taken.
        var waiting: Waiting?
        /// Polls the server of a device login.
        var task: Task<Void, Never>?
        /// A client is ending the attempt.
        var isEnding = false
        var ending: LoginEnding?
        var waiters: [Int: CheckedContinuation<LoginEnding?, Never>] = [:]

        /// Removes and returns the resources to stop at the end.
        mutating func release() -> Waiting? {
            defer { waiting = nil }
            return waiting
        }
    }

    private struct State {
        var entries: [ByteText: Entry] = [:]
        /// Alarms that rang before their callers could wait.
        var early: Set<Int> = []
        var last = 0

        /// The entry of a credential.
        subscript(name: String) -> Entry? {
            get { entries[ByteText(name)] }
            set { entries[ByteText(name)] = newValue }
        }
    }

    private let state = Mutex(State())

    /// Limit of the remembered names; beyond, the oldest ended attempt is forgotten.
    private static let most = 256

    /// Begins a new attempt, replacing an attempt under way.
    func begin(_ name: String) -> Int {
        let (number, old) = state.withLock { state in
            state.last += 1
            let old = state.entries.updateValue(Entry(number: state.last), forKey: ByteText(name))
            if state.entries.count > Self.most,
                let oldest = state.entries.filter({ $0.value.ending != nil }).min(by: {
                    $0.value.number < $1.value.number
                })
            {
                state.entries[oldest.key] = nil
            }
            return (state.last, old)
        }
        if var old, old.ending == nil { Self.stop(&old, .failure(Self.superseded)) }
        return number
    }

    /// Makes the attempt wait for its response, unless ended already.
    func wait(_ name: String, _ number: Int, _ waiting: Waiting) {
        let isOver = state.withLock { state in
            guard state[name]?.number == number, state[name]?.ending == nil else { return true }
            state[name]?.waiting = waiting
            return false
        }
        if isOver { Self.stop(waiting) }
    }

    /// Adds a task that ends with the attempt.
    func run(_ name: String, _ number: Int, _ task: Task<Void, Never>) {
        let isOver = state.withLock { state in
            guard state[name]?.number == number, state[name]?.ending == nil else { return true }
            state[name]?.task = task
            return false
        }
        if isOver { task.cancel() }
    }

    /// Whether the attempt waits for a response with this state.
    func expects(_ name: String, _ number: Int, _ response: String) -> Bool {
        let waiting = state.withLock { state in
            state[name].flatMap { $0.number == number ? $0.waiting : nil }
        }
        return waiting?.attempt.hasState(response) ?? false
    }

    /// Takes the response for the waiting attempt, once.
    ///
    /// - Parameters:
    ///   - isGuess: a client may have brought a wrong response: throws for a wrong state, and the attempt
    ///     continues.
    ///   - number: of the only attempt to accept; nil for any.
    func judge(
        _ name: String, _ response: String, isGuess: Bool, _ number: Int? = nil
    ) throws(OAuthFailure) -> (number: Int, owner: SharedCredential, request: Result<TokenRequest, OAuthFailure>) {
        let (found, waiting) = state.withLock { state -> (Int, Waiting?) in
            guard let entry = state[name], number == nil || entry.number == number else { return (0, nil) }
            return (entry.number, entry.waiting)
        }
        guard let waiting else { throw Self.notWaiting(name) }
        let request: Result<TokenRequest, OAuthFailure>
        do throws(OAuthFailure) {
            request = .success(try waiting.attempt.take(response, keys: waiting.keys))
        } catch {
            if isGuess, error.reason == "state_mismatch" { throw error }
            request = .failure(error)
        }
        let isFirst = state.withLock { state in
            guard state[name]?.number == found else { return false }
            return state[name]?.release() != nil
        }
        guard isFirst else { throw Self.notWaiting(name) }
        Self.stop(waiting)
        return (found, waiting.credential, request)
    }

    /// Ends the attempt once. Waiting callers resume after `tell` has returned: events come before replies.
    func end(_ name: String, _ number: Int, _ ending: LoginEnding, tell: () -> Void) {
        let isFirst = state.withLock { state in
            guard let entry = state[name], entry.number == number, entry.ending == nil else { return false }
            state[name]?.isEnding = true
            return !entry.isEnding
        }
        guard isFirst else { return }
        tell()
        let entry = state.withLock { state -> Entry? in
            guard let entry = state[name], entry.number == number, entry.ending == nil else { return nil }
            state[name] = Entry(number: number, ending: ending)
            return entry
        }
        guard var entry else { return }
        Self.stop(&entry, ending)
    }

    func isUnderWay(_ name: String) -> Bool { state.withLock { $0[name].map { $0.ending == nil } ?? false } }

    func number(of name: String) -> Int? { state.withLock { $0[name]?.number } }

    /// Waits for the end; nil without such an attempt, or if the task is cancelled or the alarm rings first.
    func ending(
        of name: String, _ number: Int?, alarm: ((@escaping @Sendable () -> Void) -> ScheduledWork)? = nil
    ) async -> LoginEnding? {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        let ringing = alarm?({ [weak self] in self?.wake(name, id) })
        defer {
            ringing?.cancel()
            state.withLock { _ = $0.early.remove(id) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = state.withLock { state -> LoginEnding?? in
                    guard let entry = state[name], number == nil || entry.number == number else {
                        return .some(nil)
                    }
                    if let ending = entry.ending { return ending }
                    if Task.isCancelled || state.early.contains(id) { return .some(nil) }
                    state[name]?.waiters[id] = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            wake(name, id)
        }
    }

    private func wake(_ name: String, _ id: Int) {
        let waiter = state.withLock { state in
            let waiter = state[name]?.waiters.removeValue(forKey: id)
            if waiter == nil { state.early.insert(id) }
            return waiter
        }
        waiter?.resume(returning: nil)
    }

    private static let superseded = OAuthFailure(
        .needsLogin, "login_superseded", "another login took the place of this one")

    private static func stop(_ entry: inout Entry, _ ending: LoginEnding) {
        if let waiting = entry.release() { stop(waiting) }
        entry.task?.cancel()
        for waiter in entry.waiters.values { waiter.resume(returning: ending) }
    }

    private static func stop(_ waiting: Waiting) {
        waiting.alarm.cancel()
        waiting.listener?.close()
    }

    private static func notWaiting(_ name: String) -> OAuthFailure {
        OAuthFailure(
            .needsLogin, "state_mismatch",
            "no login of \(name) waits for this response: it came already, or begin again")
    }
}
