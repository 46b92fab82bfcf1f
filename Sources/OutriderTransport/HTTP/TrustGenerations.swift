// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Counts how often the roots of a security have changed, or a session has given the security up: connections from
/// before are not trusted any more.
struct TrustGenerations {
    private final class State {
        var stamps: FileStamps
        /// Different after each change.
        var generation: Int
        var looked: NIODeadline

        init(stamps: FileStamps, generation: Int, looked: NIODeadline) {
            self.stamps = stamps
            self.generation = generation
            self.looked = looked
        }
    }

    private static let mostStates = 256
    /// How long changed roots may stay unnoticed.
    private static let patience = TimeAmount.milliseconds(1000)

    private var states: [ConnectionSecurity: State] = [:]
    /// The state that was found last.
    private var recent: (security: ConnectionSecurity, state: State)?
    private var last = 0

    /// The generation of new connections.
    mutating func current(of security: ConnectionSecurity) -> Int { state(of: security)?.generation ?? 0 }

    /// Whether the files must be checked before a connection is used, once a second at most.
    mutating func isDue(_ security: ConnectionSecurity) -> Bool {
        state(of: security).map { NIODeadline.now() >= $0.looked + Self.patience } ?? true
    }

    private mutating func state(of security: ConnectionSecurity) -> State? {
        if let recent, recent.security === security { return recent.state }
        guard let state = states[security] else { return nil }
        recent = (security, state)
        return state
    }

    /// Whether the files have changed since the last check.
    mutating func saw(_ stamps: FileStamps, of security: ConnectionSecurity) -> Bool {
        let now = NIODeadline.now()
        guard let state = states[security] else {
            // forgotten securities are checked anew, and their connections count as outdated
            if states.count >= Self.mostStates {
                states = [:]
                recent = nil
            }
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
        return isChanged
    }

    mutating func end(_ isGivenUp: (ConnectionSecurity) -> Bool) {
        for security in Array(states.keys) where isGivenUp(security) {
            last &+= 1
            states[security]?.generation = last
        }
    }
}
