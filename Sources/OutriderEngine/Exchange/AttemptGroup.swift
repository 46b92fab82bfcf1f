// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport
import Synchronization

/// Attempts of an exchange that run at the same time, and are suspended together.
final class AttemptGroup: AttemptControl {
    private struct Member {
        // an attempt holds its observer, which holds the group
        weak var control: (any AttemptControl)?
    }

    private struct State {
        var members: [Member] = []
        var isHeld = false
    }

    private let state = Mutex(State())

    func add(_ control: any AttemptControl) {
        let isHeld = state.withLock { state in
            state.members.append(Member(control: control))
            return state.isHeld
        }
        if isHeld { control.hold() }
    }

    func hold() { for control in controls(isHeld: true) { control.hold() } }

    func release() { for control in controls(isHeld: false) { control.release() } }

    private func controls(isHeld: Bool) -> [any AttemptControl] {
        state.withLock { state in
            state.isHeld = isHeld
            return state.members.compactMap(\.control)
        }
    }
}
