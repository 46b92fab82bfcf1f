// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Counts how often the roots of a security have changed, or a session has given the security up: connections from
/// before are not trusted any more.
struct TrustGenerations {
    private struct State {
        var stamps: FileStamps
        /// Different after each change.
        var generation: Int
        var looked: NIODeadline
    }

    private static let mostStates = 256
    /// How long changed roots may stay unnoticed.
    private static let patience = TimeAmount.milliseconds(1000)

    private var states: [ConnectionSecurity: State] = [:]
    private var last = 0

    /// The generation of new connections.
    func current(of security: ConnectionSecurity) -> Int { states[security]?.generation ?? 0 }

    /// Whether the files must be checked before a connection is used, once a second at most.
    func isDue(_ security: ConnectionSecurity) -> Bool {
        states[security].map { NIODeadline.now() >= $0.looked + Self.patience } ?? true
    }

    /// Whether the files have changed since the last check.
    mutating func saw(_ stamps: FileStamps, of security: ConnectionSecurity) -> Bool {
        let now = NIODeadline.now()
        guard var state = states[security] else {
            // forgotten securities are checked anew, and their connections count as outdated
            if states.count >= Self.mostStates { states = [:] }
            last &+= 1
            states[security] = State(stamps: stamps, generation: last, looked: now)
            return false
        }
        let isChanged = stamps != state.stamps
        (state.looked, state.stamps) = (now, stamps)
        if isChanged {
            last &+= 1
            state.generation = last
        }
        states[security] = state
        return isChanged
    }

    mutating func end(_ isGivenUp: (ConnectionSecurity) -> Bool) {
        for security in Array(states.keys) where isGivenUp(security) {
            last &+= 1
            states[security]?.generation = last
        }
    }
}
