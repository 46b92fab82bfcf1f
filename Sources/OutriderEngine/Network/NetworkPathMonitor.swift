// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// Watches the network of this machine for everything that waits for a way, or reports one.
///
/// netlink is a bell: 50 ms after it has rung, or a second at most while it keeps ringing, everything is looked at again.
/// The thread that listens exists only while something waits or watches.
package final class NetworkPathMonitor: Sendable {
    private struct Waiter {
        var url: HTTPURL
        var rule: InterfaceRule
        var end: ContinuousClock.Instant
        var continuation: UnsafeContinuation<Bool, Never>
    }

    /// What several waiters may have in common.
    private struct Way: Hashable {
        var origin: String
        var rule: InterfaceRule
    }

    private struct State {
        var waiters: [Int: Waiter] = [:]
        var watchers: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
        var socket: RouteSocket?
        /// When the bell rang first and last since the last look; nil if it did not.
        var rung: (first: ContinuousClock.Instant, last: ContinuousClock.Instant)?
        /// A look without a ring is due.
        var isPolling = false

        var isIdle: Bool { waiters.isEmpty && watchers.isEmpty }
    }

    /// Quiet seconds behind a ring.
    private static let quiet = 0.05
    private static let longestStorm = 1.0
    /// Seconds between looks where a way is waited for: a ring may be lost.
    private static let patience = 1.0
    /// The same without netlink.
    private static let blindPatience = 0.1
    /// Seconds between looks of those who only watch, without netlink.
    private static let blindWatch = 2.0

    private let executors: LoopExecutors
    private let state = Mutex(State())

    init(_ executors: LoopExecutors) { self.executors = executors }

    /// Waits until a way leads there over such an interface; false after so many seconds, or when the task is cancelled.
    func leads(to url: HTTPURL, over rule: InterfaceRule, within seconds: Double) async -> Bool {
        let id = makeID()
        let end = ContinuousClock.now + .seconds(min(max(seconds, 0), 86400))
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
                let isWaiting = state.withLock { state in
                    if Task.isCancelled { return false }
                    state.waiters[id] = Waiter(url: url, rule: rule, end: end, continuation: continuation)
                    return true
                }
                guard isWaiting else { return continuation.resume(returning: false) }
                listen()
                poll()
                // the end of the wait need not be near a look
                _ = executors.later(seconds: max(0, (end - .now).seconds)) { [weak self] in self?.expire(id) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
            rest()
        }
    }

    /// Calls back whenever the network may have changed, until `unwatch`. Must return quickly.
    package func watch(_ look: @escaping @Sendable () -> Void) -> Int {
        let id = makeID()
        state.withLock { $0.watchers[id] = look }
        listen()
        poll()
        return id
    }

    package func unwatch(_ id: Int) {
        state.withLock { $0.watchers[id] = nil }
        rest()
    }

    private func makeID() -> Int {
        state.withLock { state in
            state.nextID &+= 1
            return state.nextID
        }
    }

    // MARK: the bell

    /// Opens the bell, unless it is open.
    private func listen() {
        let opened = state.withLock { state -> RouteSocket? in
            guard !state.isIdle, state.socket == nil, let socket = RouteSocket() else { return nil }
            state.socket = socket
            return socket
        }
        guard let opened else { return }
        let isHeard = WaitingThread.start { [weak self] in
            while opened.wait() { self?.rang() }
        }
        if !isHeard { state.withLock { if $0.socket === opened { $0.socket = nil } } }
    }

    /// Closes the bell where nothing waits or watches.
    private func rest() {
        let socket = state.withLock { state -> RouteSocket? in
            guard state.isIdle else { return nil }
            return state.socket.take()
        }
        socket?.stop()
    }

    private func rang() {
        let now = ContinuousClock.now
        let isFirst = state.withLock { state in
            defer { state.rung = (state.rung?.first ?? now, now) }
            return state.rung == nil
        }
        if isFirst { _ = executors.later(seconds: Self.quiet) { [weak self] in self?.settle() } }
    }

    /// Looks when the bell has been quiet, or has rung for long.
    private func settle() {
        let now = ContinuousClock.now
        let left = state.withLock { state -> Double in
            guard let rung = state.rung else { return 0 }
            let quiet = Self.quiet - (now - rung.last).seconds
            let storm = Self.longestStorm - (now - rung.first).seconds
            let left = min(quiet, storm)
            if left <= 0.001 { state.rung = nil }
            return left
        }
        guard left <= 0.001 else {
            _ = executors.later(seconds: left) { [weak self] in self?.settle() }
            return
        }
        look()
    }

    // MARK: looking

    /// Looks now and then where the bell alone is not enough.
    private func poll() {
        let seconds = state.withLock { state -> Double? in
            guard !state.isPolling else { return nil }
            let isBlind = state.socket == nil
            if !state.waiters.isEmpty {
                state.isPolling = true
                return isBlind ? Self.blindPatience : Self.patience
            }
            guard isBlind, !state.watchers.isEmpty else { return nil }
            state.isPolling = true
            return Self.blindWatch
        }
        guard let seconds else { return }
        _ = executors.later(seconds: seconds) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isPolling = false }
            look()
            poll()
        }
    }

    /// Lets all go whose way is there, and tells all who watch.
    private func look() {
        let (waiters, watchers) = state.withLock { ($0.waiters, Array($0.watchers.values)) }
        let now = ContinuousClock.now
        var found: [Way: Bool] = [:]
        for (id, waiter) in waiters {
            let way = Way(origin: waiter.url.origin, rule: waiter.rule)
            let leads = found[way] ?? NetworkPath.leads(to: waiter.url, over: waiter.rule)
            found[way] = leads
            guard leads || now >= waiter.end else { continue }
            // a cancelled one has gone already
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: leads)
        }
        for watcher in watchers { watcher() }
        rest()
    }

    private func expire(_ id: Int) {
        guard let waiter = state.withLock({ $0.waiters.removeValue(forKey: id) }) else { return }
        waiter.continuation.resume(returning: NetworkPath.leads(to: waiter.url, over: waiter.rule))
        rest()
    }
}

/// Reports how a way changes, until it is stopped.
package final class PathWatch: Sendable {
    private struct State {
        var machine: ReachabilityMachine
        var id: Int?
        var isStopped = false
        var isDue = false
    }

    private let monitor: NetworkPathMonitor
    private let executors: LoopExecutors
    private let sample: @Sendable () -> PathSample
    private let tell: @Sendable (PathSample, PathSample) -> Void
    private let state: Mutex<State>
    /// How the way was at the beginning.
    package let first: PathSample

    /// - Parameters:
    ///   - sample: how the way is now; called on an event loop.
    ///   - tell: hears the new state and the one before.
    init(
        _ monitor: NetworkPathMonitor, _ executors: LoopExecutors, sample: @escaping @Sendable () -> PathSample,
        tell: @escaping @Sendable (PathSample, PathSample) -> Void
    ) {
        self.monitor = monitor
        self.executors = executors
        self.sample = sample
        self.tell = tell
        first = sample()
        state = Mutex(State(machine: ReachabilityMachine(first)))
    }

    package func start() {
        let id = monitor.watch { [weak self] in self?.look() }
        let isStopped = state.withLock { state in
            state.id = id
            return state.isStopped
        }
        if isStopped { monitor.unwatch(id) }
    }

    package func stop() {
        let id = state.withLock { state in
            state.isStopped = true
            return state.id.take()
        }
        if let id { monitor.unwatch(id) }
    }

    /// Samples, and tells what has changed.
    package func look() {
        let now = Double(ContinuousClock.now.seconds)
        let sample = sample()
        let step = state.withLock { state in
            state.isStopped ? .none : state.machine.sampled(sample, at: now)
        }
        switch step {
        case .none: break
        case .tell(let sample, let previous): tell(sample, previous)
        case .sampleAgain(let time):
            let isFirst = state.withLock { state in
                defer { state.isDue = true }
                return !state.isDue
            }
            guard isFirst else { return }
            _ = executors.later(seconds: max(0.001, time - now)) { [weak self] in
                guard let self else { return }
                state.withLock { $0.isDue = false }
                look()
            }
        }
    }
}

extension ContinuousClock.Instant {
    /// Since some instant that stays the same while the process runs.
    fileprivate var seconds: Double { (self - Self.origin).seconds }

    private static let origin = ContinuousClock.now
}
