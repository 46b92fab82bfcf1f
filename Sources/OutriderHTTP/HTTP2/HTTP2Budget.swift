// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits frames that cost work and carry no content. Times are seconds of a monotonic clock.
///
/// Tokens return with time, and with useful bytes. An honest server does not exhaust them: a gRPC server that measures
/// bandwidth sends a PING for each window, with much DATA between them.
struct HTTP2Budget {
    static let most = 1000.0
    static let perSecond = 33.0
    static let bytesPerToken = 16.0 * 1024

    private var tokens = HTTP2Budget.most
    private var last: Double?

    /// Useful bytes arrived.
    mutating func earn(_ bytes: Int) { tokens = min(Self.most, tokens + Double(bytes) / Self.bytesPerToken) }

    /// False if the budget is exhausted.
    mutating func spend(now: Double) -> Bool {
        if let last, now > last { tokens = min(Self.most, tokens + (now - last) * Self.perSecond) }
        last = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }
}

/// Counts resets by the client: servers take many in a short time for an attack.
struct HTTP2Resets {
    static let most = 100
    static let seconds = 30.0

    private var since = -Double.infinity
    private var count = 0

    /// Counts a reset; true if the connection should take no new streams.
    mutating func add(now: Double) -> Bool {
        if now - since > Self.seconds {
            since = now
            count = 0
        }
        count += 1
        return count >= Self.most
    }
}
