// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// Tells the request that was sent for several what the transport tells of the attempt.
final class FlightObserver: AttemptObserver {
    private let observer: (any AttemptObserver)?
    private let relay = RelayControl()
    private let asked = Mutex<ContinuousClock.Instant?>(nil)

    /// Nil if the exchange is that of a request.
    let background: CacheBackground?

    init(_ observer: (any AttemptObserver)?, background: CacheBackground?) {
        self.observer = observer
        self.background = background
    }

    /// Of the request that was sent; nil for a background revalidation.
    var watcher: (any CacheWatcher)? { observer as? any CacheWatcher }

    /// Since when the head of a response is waited for; nil before the request is sent.
    var askedAt: ContinuousClock.Instant? { asked.withLock { $0 } }

    /// Whether the request that was sent is suspended, or waits for the client's code.
    var isHeld: Bool { relay.isHeld }

    func sending(_ control: any AttemptControl) {
        asked.withLock { $0 = .now }
        relay.attach(control)
        observer?.sending(relay)
    }

    func waiting(_ control: any AttemptControl) {
        relay.attach(control)
        observer?.waiting(relay)
    }

    func queued() { observer?.queued() }
    func connecting(_ phase: HTTPFailure.Phase) { observer?.connecting(phase) }
    func callbackRuns(_ isCallbackRunning: Bool) { observer?.callbackRuns(isCallbackRunning) }
    func connected(_ timeline: Timeline) { observer?.connected(timeline) }
    func bodySent(_ bytes: Int64, onWire: Int64?) { observer?.bodySent(bytes, onWire: onWire) }
    func bodyEnded() { observer?.bodyEnded() }
    func informational(_ head: ResponseHead) {
        asked.withLock { $0 = .now }
        observer?.informational(head)
    }
    func sendsAgain(_ attempt: Attempt) -> Attempt { observer?.sendsAgain(attempt) ?? attempt.unproved }
    func gaveUp(_ timeline: Timeline) {
        background?.counts(timeline)
        observer?.gaveUp(timeline)
    }

    func endedUnread(_ failure: HTTPFailure) { observer?.endedUnread(failure) }

    /// From now on no single request holds the exchange up.
    func share() { relay.detach() }

    /// From now on no limit of a single request ends the exchange.
    func lift() { relay.lift() }

    /// The exchange belongs to one request again.
    func returnControl() { relay.reattach() }
}

/// Passes holds of one request on to an attempt, as long as no other request depends on it.
private final class RelayControl: AttemptControl {
    private struct State {
        // the attempt holds its observer, which holds this
        weak var control: (any AttemptControl)?
        var isHeld = false
        var isDetached = false
        var isLifted = false
    }

    private let state = Mutex(State())

    var isHeld: Bool { state.withLock { $0.isHeld } }

    /// An attempt that begins after others have joined has no limits of a single request, either.
    func attach(_ control: any AttemptControl) {
        let isLifted = state.withLock { state in
            state.control = control
            return state.isLifted
        }
        if isLifted { control.lift() }
    }

    func hold() {
        let control = state.withLock { state in
            state.isHeld = true
            return state.isDetached ? nil : state.control
        }
        control?.hold()
    }

    func release() {
        let control = state.withLock { state in
            state.isHeld = false
            return state.isDetached ? nil : state.control
        }
        control?.release()
    }

    func lift() {
        let control = state.withLock { state in
            state.isLifted = true
            return state.control
        }
        control?.lift()
    }

    func detach() {
        let control = state.withLock { state in
            guard !state.isDetached else { return nil as (any AttemptControl)? }
            state.isDetached = true
            return state.isHeld ? state.control : nil
        }
        control?.release()
    }

    func reattach() {
        let control = state.withLock { state in
            state.isDetached = false
            return state.isHeld ? state.control : nil
        }
        control?.hold()
    }
}
