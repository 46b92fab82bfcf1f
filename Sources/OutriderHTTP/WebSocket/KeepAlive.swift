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
    /// When the ping that waits for its pong was sent.
    private var pinged: Double?
    /// The network has changed, and no ping was sent since.
    private var hasChanged = false
    /// When the last ping for a change was sent.
    private var probed: Double?
    /// Least seconds between two pings for changes of the network.
    private static let pause = 1.0

    package init(_ settings: Settings, now: Double) {
        self.settings = settings
        lastHeard = now
    }

    /// Bytes arrived: any bytes prove that the server lives.
    package mutating func received(now: Double) {
        lastHeard = now
        pinged = nil
    }

    /// Bytes before the ping left: a server that takes them lives, and cannot have seen the ping.
    package mutating func progressed(now: Double) { if pinged != nil { pinged = now } }

    /// The network changed: the connection may be dead. The next `tick` tells when to ping.
    package mutating func networkChanged() { hasChanged = true }

    /// - Parameter isReading: false while nothing is read, as during a suspension: then no pong can be heard.
    package mutating func tick(now: Double, isReading: Bool = true) -> Step {
        guard isReading else {
            received(now: now)
            return .wait(settings.interval)
        }
        if let pinged {
            let left = pinged + settings.timeout - now
            guard left > 0 else { return .dead }
            return .wait(hasChanged ? min(left, Self.pause) : left)
        }
        let probe = probed.map { $0 + Self.pause - now } ?? 0
        let left = hasChanged ? max(0, probe) : lastHeard + settings.interval - now
        guard left <= 0 else { return .wait(left) }
        if hasChanged { probed = now }
        hasChanged = false
        pinged = now
        return .ping
    }
}
