// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides when to send a PING, and when a connection is dead. Times are seconds of a clock that does not go back.
///
///     quiet ──5 s without a byte while a stream waits, or a request after 30 s of silence──▶ PING
///     PING  ──3 s──▶ suspect (no new stream) ──2 s──▶ dead         any byte ends this
///
/// So a request on a connection that went silent is sent again, or fails, within 12 seconds. A PING behind bodies takes
/// longer, and gets the time that a slow way needs for them. At least 10 s between two PINGs, and at most two without a
/// frame of a stream between them: servers count more as abuse.
struct HTTP2Liveness {
    static let patience = 5.0
    static let suspicion = 3.0
    static let death = 5.0
    /// Bytes per second of a slow way, and the most time that bodies on their way give to a PING.
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
    /// Bytes of bodies: those sent, those in front of the last PING, and those that have arrived as far as is known.
    private(set) var sent: Int64 = 0
    private var pinged: Int64 = 0
    private var arrived: Int64 = 0
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

    mutating func sends(_ bytes: Int) { sent &+= Int64(bytes) }  // safe: an Int is an Int64

    /// The first bytes of bodies, so many, have reached the peer.
    mutating func reached(_ bytes: Int64) { arrived = max(arrived, bytes) }

    mutating func acknowledged() {
        pending = nil
        reached(pinged)
    }

    /// Notes a new request; returns whether to send a PING along.
    mutating func begins(_ now: Double) -> Bool { now - lastHeard >= Self.silence && mayPing(now) && ping(now) }

    private func mayPing(_ now: Double) -> Bool {
        pending == nil && pings < Self.mostIdlePings && now - lastPing >= Self.interval
    }

    private mutating func ping(_ now: Double) -> Bool {
        pending = now
        lastPing = now
        pings += 1
        pinged = sent
        return true
    }

    /// - Parameter waitsSince: when the stream that has waited longest for its peer began to; nil if none waits.
    mutating func timePassed(_ now: Double, waitsSince: Double?) -> Step {
        if let pending {
            let quiet = now - max(pending, lastHeard)
            // on a slow way, buffers hold megabytes in front of the PING
            let ahead = Double(max(0, pinged &- arrived))
            if quiet >= Self.death + min(ahead / Self.slowWay, Self.mostForBodies) { return .dead }
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
