// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// Suspending and resuming an exchange.
extension Exchange {
    /// Starts the exchange, unless its plan requires `resume` to start.
    package func launch() {
        if plan?.plan.startsImmediately != false { start() }
    }

    /// Whether only `resume` lets the exchange go on.
    package var needsResume: Bool {
        let startsLater = plan?.plan.startsImmediately == false
        return state.withLock { state in
            guard state.cancellation == nil, !state.isEnding else { return false }
            if state.snapshot.phase == .suspended { return state.turn != .awaited }
            return startsLater && !state.isStarted
        }
    }

    /// Stops reading and writing until `resume`; timeouts pause. No effect on an ended exchange.
    package func suspend() {
        waitNoMore()
        let (control, observer, isSuspended) = state.withLock { state in
            let before = state.snapshot.phase
            guard state.cancellation == nil, !state.isEnding, become(.suspended, &state) else {
                return (nil, nil, false) as ((any AttemptControl)?, (any ExchangeObserver)?, Bool)
            }
            state.held.hold(at: .now)
            state.untold = before == .created || before == .resumed ? [] : [before]
            state.told = state.untold.count
            pauseProgress(&state)
            return (state.control, state.observer, true)
        }
        lendTurn()
        control?.hold()
        guard isSuspended else { return }
        state.withLock { $0.opening }?.hold()
        tell(.requestSuspended) { .attempt(attemptNumber) }
        if control != nil { tell(.attemptSuspended) { .attempt(attemptNumber) } }
        guard let observer else { return }
        watch(nil)
        introduce(to: observer)
        tellOfHolding { observer.receiveDroppable(.state(.suspended, at: .now)) }
    }

    private func introduce(to observer: any ExchangeObserver) {
        _ = introduce {
            observer.receiveDroppable(.state(.created, at: created))
            return nil
        }
    }

    /// Continues after `suspend`, or starts a new exchange. If the group has no room, the exchange stays suspended
    /// until there is some.
    package func resume() {
        let turn = reclaimTurn()
        if turn != .waits { goOn(turn) }
    }

    /// Continues the exchange, with its turn if needed.
    func goOn(_ turn: Return) {
        enum Way { case nothing, start, leave, goOn([RequestPhase], isDeciding: Bool) }
        typealias Parts = (Way, (any AttemptControl)?, [@Sendable () -> Void], (any ExchangeObserver)?)
        let (way, control, gates, observer) = state.withLock { state -> Parts in
            if turn == .given {
                // the exchange may have been suspended again, or have ended
                guard state.turn == .awaited else { return (.leave, nil, [], nil) }
                state.turn = .taken
            } else if turn == .unneeded {
                guard state.turn == .awaited else { return (.nothing, nil, [], nil) }
                state.turn = .none
            }
            let phase = state.snapshot.phase
            guard state.cancellation == nil, !state.isEnding, phase == .suspended || !state.isStarted else {
                return (.nothing, nil, [], nil)
            }
            if phase == .suspended { state.held.release(at: .now) }
            _ = become(.resumed, &state)
            resumeProgress(&state)
            guard state.isStarted else {
                state.isStarted = true
                return (.start, nil, [], nil)
            }
            // earlier phases come first, and are not reported again
            for phase in state.untold { _ = become(phase, &state) }
            let news = Array(state.untold.dropFirst(state.told))
            state.untold = []
            defer { state.gates = [] }
            return (.goOn(news, isDeciding: state.decisions > 0), state.control, state.gates, state.observer)
        }
        switch way {
        case .nothing: return
        case .leave: gate?.leave()
        case .start: run()
        case .goOn(let news, let isDeciding):
            watchResource()
            tell(.requestResumed) { .attempt(attemptNumber) }
            if control != nil { tell(.attemptResumed) { .attempt(attemptNumber) } }
            if let observer {
                if control != nil, !isDeciding { watch(totalTimeout) }
                introduce(to: observer)
                tellOfHolding {
                    observer.receiveDroppable(.state(.resumed, at: .now))
                    for phase in news { observer.receiveDroppable(.state(phase, at: .now)) }
                }
            }
            // the end of a callback releases the attempt that it holds
            if !isDeciding { control?.release() }
            state.withLock { $0.opening }?.release()
            for gate in gates { gate() }
        }
    }

    /// The attempts of the group are suspended with the present attempt, which joins them.
    func join(_ group: AttemptGroup) {
        let isHeld = state.withLock { state in
            if let control = state.control { group.add(control) }
            state.control = group
            return state.snapshot.phase == .suspended
        }
        if isHeld { group.hold() }
    }

    /// Calls `later` when the exchange is resumed or cancelled; calls `now` instead if the exchange is not suspended.
    func whenResumed(_ later: @escaping @Sendable () -> Void, orNow now: () -> Void) {
        let waits = state.withLock { state in
            guard state.snapshot.phase == .suspended, state.cancellation == nil else { return false }
            state.gates.append(later)
            return true
        }
        if !waits { now() }
    }

    /// The same for tasks; returns early if the task is cancelled.
    func untilResumed() async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                whenResumed({ continuation.resume() }, orNow: { continuation.resume() })
            }
        } onCancel: {
            let gates = state.withLock { state in
                defer { state.gates = [] }
                return state.gates
            }
            for gate in gates { gate() }
        }
    }
}
