// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport
import Synchronization

/// Reports changes of interfaces and local addresses to the owners of open connections.
///
/// All listeners share one watch of the monitor, and one sample per change. Without listeners nothing is watched.
final class NetworkChanges: Sendable {
    private struct State {
        var listeners: [Int: @Sendable () -> Void] = [:]
        var nextID = 0
        /// The watch of the monitor; nil without listeners.
        var watch: Int?
        var known = NetworkState()
    }

    private let monitor: NetworkPathMonitor
    private let state = Mutex(State())

    init(_ monitor: NetworkPathMonitor) { self.monitor = monitor }

    /// Calls back after each change, until `ignore`. The callback must return quickly.
    func listen(_ changed: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.nextID &+= 1
            state.listeners[state.nextID] = changed
            // the monitor never calls back while it holds a lock
            if state.watch == nil {
                state.watch = monitor.watch { [weak self] in self?.look() }
                state.known = NetworkPath.state()
            }
            return state.nextID
        }
    }

    func ignore(_ id: Int) {
        state.withLock { state in
            state.listeners[id] = nil
            if state.listeners.isEmpty, let watch = state.watch.take() { monitor.unwatch(watch) }
        }
    }

    private func look() {
        let now = NetworkPath.state()
        let listeners = state.withLock { state -> [@Sendable () -> Void] in
            guard state.watch != nil, now != state.known else { return [] }
            state.known = now
            return Array(state.listeners.values)
        }
        for listener in listeners { listener() }
    }
}
