// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Counts how often the roots of a security have changed, or a session has given the security up: a connection that was made
/// before vouches for nothing any more.
struct TrustGenerations {
    private struct State {
        var stamps: FileStamps
        /// Another one after each change.
        var generation: Int
        var looked: NIODeadline
    }

    private static let mostStates = 256
    /// How long changed roots may stay unnoticed.
    private static let patience = TimeAmount.milliseconds(1000)

    private var states: [ConnectionSecurity: State] = [:]
    private var last = 0

    /// The generation that connections are made in now.
    func current(of security: ConnectionSecurity) -> Int { states[security]?.generation ?? 0 }

    /// Looks at the files of the roots, once a second at most. True if the roots have changed.
    mutating func look(_ security: ConnectionSecurity, _ tls: TLSBridge) -> Bool {
        let now = NIODeadline.now()
        guard var state = states[security] else {
            // what is forgotten is looked at anew, and its connections count as outdated
            if states.count >= Self.mostStates { states = [:] }
            last &+= 1
            states[security] = State(stamps: tls.stamps(of: security), generation: last, looked: now)
            return false
        }
        guard now >= state.looked + Self.patience else { return false }
        state.looked = now
        let stamps = tls.stamps(of: security)
        let isChanged = stamps != state.stamps
        state.stamps = stamps
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
