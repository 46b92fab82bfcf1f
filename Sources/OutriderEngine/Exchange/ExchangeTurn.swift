// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Taking turns with other exchanges.
extension Exchange {
    /// How it stands with the limits of its group.
    enum Turn: Sendable {
        case none, taken
        /// Given back for as long as it is suspended.
        case lent
    }

    /// Waits until it may go on the wire. Throws what `TurnKeeper.enter` throws.
    func takeTurn() async throws(HTTPFailure) {
        guard let turns, state.withLock({ $0.turn == .none }) else { return }
        try await turns.enter(plan?.plan.priority ?? .normal) { tell(.requestQueued) { .attempt(attemptNumber) } }
        let isHeld = state.withLock { state in
            let isHeld = state.snapshot.phase == .suspended
            state.turn = isHeld ? .lent : .taken
            return isHeld
        }
        if isHeld { turns.leave() }
    }

    /// It is not on the wire any more.
    func giveTurn() {
        guard let turns else { return }
        let had = state.withLock { state in
            defer { state.turn = .none }
            return state.turn == .taken
        }
        if had { turns.leave() }
    }

    /// Suspended requests take nobody's place.
    func lendTurn() {
        guard let turns else { return }
        let had = state.withLock { state in
            guard state.turn == .taken else { return false }
            state.turn = .lent
            return true
        }
        if had { turns.leave() }
    }

    func reclaimTurn() {
        guard let turns else { return }
        let had = state.withLock { state in
            guard state.turn == .lent else { return false }
            state.turn = .taken
            return true
        }
        if had { turns.reenter() }
    }
}
