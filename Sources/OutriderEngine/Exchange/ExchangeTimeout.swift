// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension Exchange {
    /// Starts the limit now.
    func limitResource(_ seconds: Double) {
        state.withLock { state in
            let now = ContinuousClock.now
            state.resource = ResourceTimeout(
                most: seconds, began: now.sinceOrigin, heldBefore: state.held.total(at: now))
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
        let (resource, isOver) = state.withLock { state -> (ResourceTimeout?, Bool) in
            state.resource?.alarm = nil
            guard let resource = state.resource, !state.held.isHeld else { return (nil, false) }
            return (resource, state.spent(of: resource) >= resource.most)
        }
        guard let resource else { return }
        guard isOver else { return watchResource() }
        // the cause of the retries would be lost with their attempts
        let cause = resource.lastFailure.map { "; the attempt before the last retry failed: \($0.message)" } ?? ""
        end(
            with: HTTPFailure(
                .timedOut, "the request took more than \(resource.most) s with all its attempts\(cause)", phase: .total,
                sent: .maybeSent))
    }
}

extension Exchange.State {
    /// Seconds since the beginning, without the time held.
    fileprivate func spent(of resource: ResourceTimeout) -> Double {
        let now = ContinuousClock.now
        return (now.sinceOrigin - resource.began - (held.total(at: now) - resource.heldBefore)).seconds
    }
}
