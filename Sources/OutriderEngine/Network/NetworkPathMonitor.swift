// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// Watches the network of this machine for waiters that need a route, and for watchers that report its changes.
///
/// A netlink message only triggers sampling: the routes are sampled 50 ms after the last message, or after a second of
/// continuous messages. The listening thread exists only while there are waiters or watchers.
package final class NetworkPathMonitor: Sendable {
    private struct Waiter {
        var url: HTTPURL
        var rule: InterfaceRule
        var end: ContinuousClock.Instant
        var continuation: UnsafeContinuation<Bool, Never>
    }

    /// The part that several waiters may have in common.
    private struct Way: Hashable {
        var origin: String
        var rule: InterfaceRule
    }

    private struct State {
        var waiters: [Int: Waiter] = [:]
        var watchers: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
        var socket: RouteSocket?
        /// The first and last netlink message since the last sampling; nil for none.
        var rung: (first: ContinuousClock.Instant, last: ContinuousClock.Instant)?
        /// A periodic sampling is due.
        var isPolling = false

        var isIdle: Bool { waiters.isEmpty && watchers.isEmpty }
    }

    /// Seconds without messages before sampling.
    private static let quiet = 0.05
    private static let longestStorm = 1.0
    /// Seconds between samplings with waiters: a message may be lost.
    private static let patience = 1.0
    /// The same without netlink.
    private static let blindPatience = 0.1
    /// Seconds between samplings with watchers only, without netlink.
    private static let blindWatch = 2.0

    private let executors: LoopExecutors
    private let state = Mutex(State())

    init(_ executors: LoopExecutors) { self.executors = executors }

    /// Waits until a route over an allowed interface leads to the URL; false after so many seconds, or when the task is
    /// cancelled.
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
                // the end of the wait need not coincide with a sampling
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

    // MARK: netlink

    /// Opens the netlink socket, unless open.
    private func listen() {
        let opened = state.withLock { state -> RouteSocket? in
            guard !state.isIdle, state.socket == nil, let socket = RouteSocket() else { return nil }
            state.socket = socket
            return socket
        }
        guard let opened else { return }
        let isHeard = DetachedThread.start { [weak self] in
            while opened.wait() { self?.rang() }
        }
        if !isHeard { state.withLock { if $0.socket === opened { $0.socket = nil } } }
    }

    /// Closes the netlink socket if there are no waiters or watchers.
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

    /// Samples after a quiet period, or after a long series of messages.
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

    // MARK: sampling

    /// Samples periodically where netlink alone is not enough.
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

    /// Resumes the waiters with a route, and calls all watchers.
    private func look() {
        let (waiters, watchers) = state.withLock { ($0.waiters, Array($0.watchers.values)) }
        let now = ContinuousClock.now
        var found: [Way: Bool] = [:]
        for (id, waiter) in waiters {
            let way = Way(origin: waiter.url.origin, rule: waiter.rule)
            let leads = found[way] ?? NetworkPath.leads(to: waiter.url, over: waiter.rule)
            found[way] = leads
            guard leads || now >= waiter.end else { continue }
            // a cancelled waiter is gone already
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

/// Reports changes of a route until stopped.
package final class NetworkPathSubscription: Sendable {
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
    /// The first sample.
    package let first: PathSample

    /// - Parameters:
    ///   - sample: samples the route; called on an event loop.
    ///   - tell: called with the new state and the previous state.
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

    /// Samples, and reports a change.
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
    /// Since an instant that stays the same while the process runs.
    fileprivate var seconds: Double { (self - Self.origin).seconds }

    private static let origin = ContinuousClock.now
}
