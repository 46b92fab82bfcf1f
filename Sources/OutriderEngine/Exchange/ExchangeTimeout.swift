// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension Exchange {
    /// Starts the limit now.
    func limitResource(_ seconds: Double) {
        state.withLock { state in
            let now = ContinuousClock.now
            state.resource = ResourceTimeout(most: seconds, began: now, heldBefore: state.held.total(at: now))
        }
        watchResource()
    }

    /// Restarts the alarm, unless the exchange is held: then its release restarts the alarm.
    func watchResource() {
        let left = state.withLock { state -> Double? in
            guard let resource = state.resource, !state.held.isHeld, !state.isEnding else { return nil }
            resource.alarm?.cancel()
            state.resource?.alarm = nil
            return resource.most - state.spent(of: resource)
        }
        guard let left else { return }
        let alarm = environment.executors.later(seconds: max(left, 0) + 0.001) { [weak self] in self?.resourceAlarm() }
        let isNeeded = state.withLock { state in
            guard state.resource?.alarm == nil, state.resource != nil else { return false }
            state.resource?.alarm = alarm
            return true
        }
        if !isNeeded { alarm.cancel() }
    }

    private func resourceAlarm() {
        let (most, isOver) = state.withLock { state -> (Double, Bool?) in
            guard let resource = state.resource else { return (0, nil) }
            state.resource?.alarm = nil
            if state.held.isHeld { return (0, nil) }
            return (resource.most, state.spent(of: resource) >= resource.most)
        }
        guard let isOver else { return }
        guard isOver else { return watchResource() }
        end(
            with: HTTPFailure(
                .timedOut, "the request took more than \(most) s with all its attempts", phase: .total,
                sent: .maybeSent))
    }
}

extension Exchange.State {
    /// Seconds since the beginning, without the time held.
    fileprivate func spent(of resource: ResourceTimeout) -> Double {
        let now = ContinuousClock.now
        return (now - resource.began - (held.total(at: now) - resource.heldBefore)).seconds
    }
}
