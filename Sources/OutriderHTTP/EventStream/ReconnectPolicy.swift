// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether and when an event stream that ended is opened again.
package struct ReconnectPolicy: Sendable, Equatable {
    /// Default true.
    package var isEnabled = true
    /// The reconnection time until the server sets another, in seconds. Default: 3.
    package var delay = 3.0
    /// The longest delay, in seconds. The delay doubles with each failure in a row, up to this limit; a longer
    /// reconnection time of the server is kept. Default: 60.
    package var longest = 60.0
    /// The most fruitless attempts in a row before the stream fails; nil for no limit. Default: nil.
    package var max: Int?
    /// Whether a failed first connection is retried, too. Default: false, so that the client hears of the failure at
    /// once.
    package var initial = false

    package init() {}

    /// The shortest delay in seconds, even if the server requests a shorter one.
    package static let shortest = 0.05
    /// A connection that brings no bytes is good only if it stays open for the reconnection time, and at least so many
    /// seconds: with a reconnection time of 0, each connection that is closed at once would count as good.
    static let shortestGood = 1.0
    /// The longest wait for a Retry-After, in seconds; a longer value is cut.
    package static let longestRetryAfter = 3600.0
    /// The greatest random addition, as a share of the delay: avoids a thundering herd.
    package static let jitter = 0.25

    /// The delay before the next attempt, in seconds: never less than the server's reconnection time.
    ///
    /// - Parameters:
    ///   - failures: fruitless attempts in a row, including the latest; 0 after a good connection.
    ///   - serverDelay: the server's reconnection time; nil if not set.
    ///   - retryAfter: of the latest response.
    ///   - chance: at random from 0 to 1.
    package func delay(after failures: Int, serverDelay: Double?, retryAfter: Double?, chance: Double) -> Double {
        var backoff = Backoff()
        backoff.scale = Swift.max(serverDelay ?? delay, Self.shortest)
        backoff.longest = Swift.max(longest, backoff.scale)
        let computed = backoff.delay(after: Swift.max(failures, 1) - 1, chance: chance)
        let wanted = Swift.min(Swift.max(retryAfter ?? 0, 0), Self.longestRetryAfter)
        return Swift.max(computed * (1 + Self.jitter * Swift.min(Swift.max(chance, 0), 1)), wanted)
    }

    /// Whether no connection could be made, or a connection was lost, for a reason that may pass. A proxy that cannot
    /// reach the server for now refuses the connection; a proxy that does not permit the connection never will.
    static func mayPass(_ failure: HTTPFailure) -> Bool {
        RetryPolicy.networkKinds.contains(failure.kind) || (failure.kind == .proxyRefused && failure.retryable)
    }
}
