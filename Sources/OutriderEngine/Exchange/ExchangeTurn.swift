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
        /// The same, but it is to go on as soon as it has its turn again.
        case awaited
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

    /// It is not on the wire any more. If it was to go on as soon as it had its turn again, it needs none for that now.
    func giveTurn() {
        guard let turns else { return }
        let before = state.withLock { state in
            defer { if state.turn != .awaited { state.turn = .none } }
            return state.turn
        }
        switch before {
        case .taken: turns.leave()
        case .awaited:
            turns.withdraw(self)
            goOn(.unneeded)
            // it may have been given its turn just before
            giveTurn()
        case .none, .lent: break
        }
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

    enum Return: Sendable {
        /// It needs no turn, or has it.
        case free
        /// It has been given its turn, which it is to take or to leave.
        case given
        /// It waited for its turn, and can go on without.
        case unneeded
        case waits
    }

    /// Asks for its turn again. If it must wait for that, it resumes by itself.
    func reclaimTurn() -> Return {
        guard let turns else { return .free }
        let before = state.withLock { state in
            defer { if state.turn == .lent { state.turn = .awaited } }
            return state.turn
        }
        switch before {
        case .none, .taken: return .free
        case .awaited: return .waits
        case .lent: break
        }
        let hasRoom = turns.reenter(self) { [weak self] in
            if let self { goOn(.given) } else { turns.leave() }
        }
        if hasRoom { return .given }
        tell(.requestQueued) { .attempt(attemptNumber) }
        return .waits
    }

    /// It is suspended again before it had its turn.
    func waitNoMore() {
        guard let turns else { return }
        let waited = state.withLock { state in
            guard state.turn == .awaited else { return false }
            state.turn = .lent
            return true
        }
        if waited { turns.withdraw(self) }
    }
}
