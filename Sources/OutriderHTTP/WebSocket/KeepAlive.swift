// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides when a ping is due, and when a connection is dead.
///
/// Times are seconds of any clock that does not go back.
package struct KeepAlive: Sendable {
    package struct Settings: Sendable, Equatable {
        /// Seconds without a byte from the server after which a ping is sent. Default 30.
        package var interval = 30.0
        /// Seconds after the ping within which a byte must arrive. Default: 30.
        package var timeout = 30.0

        package init() {}
    }

    package enum Step: Sendable, Equatable {
        case ping
        /// Check again after so many seconds.
        case wait(Double)
        case dead
    }

    private let settings: Settings
    private var lastHeard: Double
    /// When the unanswered ping was sent.
    private var pinged: Double?
    /// When the network last changed.
    private var changed: Double?
    /// Least seconds between two pings for changes of the network.
    private static let pause = 1.0

    package init(_ settings: Settings, now: Double) {
        self.settings = settings
        lastHeard = now
    }

    /// Bytes arrived: any bytes prove that the server lives.
    package mutating func heard(now: Double) {
        lastHeard = now
        pinged = nil
    }

    /// Restarts the clock after an interruption, such as a suspension.
    package mutating func restart(now: Double) { heard(now: now) }

    package mutating func tick(now: Double) -> Step {
        if let pinged {
            let left = pinged + settings.timeout - now
            return left > 0 ? .wait(left) : .dead
        }
        let left = lastHeard + settings.interval - now
        guard left <= 0 else { return .wait(left) }
        pinged = now
        return .ping
    }

    /// The network changed: the connection may be dead. True if a ping should be sent now.
    package mutating func networkChanged(now: Double) -> Bool {
        if pinged != nil { return false }
        if let changed, now - changed < Self.pause { return false }
        changed = now
        pinged = now
        return true
    }
}
