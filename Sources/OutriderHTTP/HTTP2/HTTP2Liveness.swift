// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides when to send a PING, and when a connection is dead. Times are seconds of a clock that does not go back.
///
///     quiet ──5 s without a byte while a stream waits, or a request after 30 s of silence──▶ PING
///     PING  ──3 s──▶ suspect (no new stream) ──2 s──▶ dead         any byte ends this
///
/// So a request on a connection that went silent is sent again, or fails, within 12 seconds. A PING behind bodies takes
/// longer, and gets the time that a slow way needs for the bodies. At least 10 s between two PINGs, and at most two without a
/// frame of a stream between them: servers count more as abuse.
struct HTTP2Liveness {
    static let patience = 5.0
    static let suspicion = 3.0
    static let death = 5.0
    /// Bytes per second of a slow way, and the most time that bodies under way give to a PING.
    static let slowWay = 8192.0
    static let mostForBodies = 60.0
    static let silence = 30.0
    static let interval = 10.0
    static let mostIdlePings = 2

    enum Step: Equatable { case nothing, ping, suspect, dead }

    private var lastHeard: Double
    private var lastPing = -Double.infinity
    /// When the PING without an acknowledgement was sent.
    private var pending: Double?
    private var pings = 0
    /// Bytes of bodies: sent; sent before the last PING; known to have arrived.
    private(set) var sent: Int64 = 0
    private var pinged: Int64 = 0
    private var arrived: Int64 = 0
    /// When the last bytes of a body were sent, and how long before the last PING.
    private var lastSent = 0.0
    private var pause = 0.0
    private(set) var isSuspect = false

    var isPending: Bool { pending != nil }

    init(now: Double) { lastHeard = now }

    /// Bytes arrived. True if the connection is no longer suspect.
    mutating func received(_ now: Double) -> Bool {
        lastHeard = now
        guard isSuspect else { return false }
        isSuspect = false
        return true
    }

    /// A frame of a stream arrived.
    mutating func progressed() { pings = 0 }

    mutating func sends(_ bytes: Int, _ now: Double) {
        sent &+= Int64(bytes)  // safe: an Int is an Int64
        lastSent = now
    }

    /// The first bytes of bodies, so many, have reached the peer.
    mutating func reached(_ bytes: Int64) { arrived = max(arrived, bytes) }

    mutating func acknowledged() {
        pending = nil
        reached(pinged)
    }

    /// Notes a new request; returns whether to send a PING along.
    mutating func begins(_ now: Double, isIdle: Bool) -> Bool {
        guard now - lastHeard >= Self.silence, mayPing(now) else { return false }
        // a body of half a minute ago has arrived, or its request has ended otherwise
        if isIdle { reached(sent) }
        return ping(now)
    }

    private func mayPing(_ now: Double) -> Bool {
        pending == nil && pings < Self.mostIdlePings && now - lastPing >= Self.interval
    }

    private mutating func ping(_ now: Double) -> Bool {
        pending = now
        lastPing = now
        pings += 1
        pinged = sent
        pause = now - lastSent
        return true
    }

    /// - Parameter waitsSince: when the stream that has waited longest for its peer began to; nil if none waits.
    mutating func timePassed(_ now: Double, waitsSince: Double?) -> Step {
        if let pending {
            let quiet = now - max(pending, lastHeard)
            // on a slow way, buffers hold megabytes in front of the PING
            let ahead = Double(max(0, pinged &- arrived))
            let rest = max(0, min(ahead / Self.slowWay, Self.mostForBodies) - pause)
            if quiet >= Self.death + rest { return .dead }
            if quiet >= Self.suspicion, !isSuspect {
                isSuspect = true
                return .suspect
            }
            return .nothing
        }
        guard let waitsSince, now - max(waitsSince, lastHeard) >= Self.patience, mayPing(now) else { return .nothing }
        return ping(now) ? .ping : .nothing
    }
}
