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

    /// Whether it has to wait for admission before it goes on the wire.
    var needsTurn: Bool { state.withLock { $0.turn == .none } }

    /// The session admits it. A suspended exchange gives its turn back until it is resumed.
    func turnTaken() {
        let isHeld = state.withLock { state in
            let isHeld = state.snapshot.phase == .suspended
            state.turn = isHeld ? .lent : .taken
            return isHeld
        }
        if isHeld { turns?.leave() }
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
            _ = turns.withdraw(self)
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
        if waited { _ = turns.withdraw(self) }
    }
}
