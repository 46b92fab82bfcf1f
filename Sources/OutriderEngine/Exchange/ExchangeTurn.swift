// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Admission by the limits of a group.
extension Exchange {
    /// The turn of an exchange in its group.
    enum Turn: Sendable {
        case none, taken
        /// Returned while suspended.
        case lent
        /// Returned; the exchange resumes as soon as it gets a turn again.
        case awaited
    }

    /// Whether the exchange must be admitted before going on the wire.
    var needsTurn: Bool { state.withLock { $0.turn == .none } }

    /// The session admits the exchange. A suspended exchange returns its turn until resumed.
    func turnTaken() {
        let isHeld = state.withLock { state in
            let isHeld = state.snapshot.phase == .suspended
            state.turn = isHeld ? .lent : .taken
            return isHeld
        }
        if isHeld { gate?.leave() }
    }

    /// Returns the turn when the exchange leaves the wire. An exchange that waits for a turn to resume needs none any
    /// more.
    func giveTurn() {
        guard let gate else { return }
        let before = state.withLock { state in
            defer { if state.turn != .awaited { state.turn = .none } }
            return state.turn
        }
        switch before {
        case .taken: gate.leave()
        case .awaited:
            _ = gate.withdraw(self)
            goOn(.unneeded)
            // the turn may have been granted just before
            giveTurn()
        case .none, .lent: break
        }
    }

    /// Returns the turn of a suspended exchange to the group.
    func lendTurn() {
        guard let gate else { return }
        let had = state.withLock { state in
            guard state.turn == .taken else { return false }
            state.turn = .lent
            return true
        }
        if had { gate.leave() }
    }

    enum Return: Sendable {
        /// The exchange needs no turn, or has one.
        case free
        /// A turn was granted, to be taken or left.
        case given
        /// The exchange waited for its turn, and can continue without.
        case unneeded
        case waits
    }

    /// Requests the turn again. If the turn is not granted at once, the exchange resumes by itself later.
    func reclaimTurn() -> Return {
        guard let gate else { return .free }
        let before = state.withLock { state in
            defer { if state.turn == .lent { state.turn = .awaited } }
            return state.turn
        }
        switch before {
        case .none, .taken: return .free
        case .awaited: return .waits
        case .lent: break
        }
        let hasRoom = gate.reenter(self) { [weak self] in
            if let self { goOn(.given) } else { gate.leave() }
        }
        if hasRoom { return .given }
        tell(.requestQueued) { .attempt(attemptNumber) }
        return .waits
    }

    /// Withdraws the wait for a turn, since the exchange is suspended again.
    func waitNoMore() {
        guard let gate else { return }
        let waited = state.withLock { state in
            guard state.turn == .awaited else { return false }
            state.turn = .lent
            return true
        }
        if waited { _ = gate.withdraw(self) }
    }
}
