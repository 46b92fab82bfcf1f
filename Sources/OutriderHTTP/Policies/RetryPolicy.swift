// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The input of a retry decision: the outcome of the attempt, and its history.
package struct RetryContext: Sendable {
    package var method: String
    /// Nil if a response arrived that no validator has rejected so far.
    package var failure: HTTPFailure?
    /// Of the response, if received.
    package var status: Int?
    package var fields: HTTPFields = []
    /// Of a stored response, the seconds that have passed since the server sent it.
    package var age: Int64 = 0
    /// How many retries there have been.
    package var retries: Int
    /// Since the exchange began, in seconds.
    package var elapsed: Double
    /// Seconds since 1970.
    package var now: Int64
    /// At random from 0 to 1.
    package var chance: Double

    package init(
        method: String, failure: HTTPFailure? = nil, status: Int? = nil, fields: HTTPFields = [], retries: Int = 0,
        elapsed: Double = 0, now: Int64 = 0, chance: Double = 0
    ) {
        self.method = method
        self.failure = failure
        self.status = status
        self.fields = fields
        self.retries = retries
        self.elapsed = elapsed
        self.now = now
        self.chance = chance
    }
}

/// Whether and when a failed attempt is repeated.
///
/// The defaults are those of Alamofire's RetryPolicy: two retries after 0.5 and 1 seconds, for idempotent methods (RFC
/// 9110 section 9.2.2), transient statuses and network failures.
package struct RetryPolicy: Sendable, Equatable {
    /// Retries, not attempts. Default 2.
    package var limit = 2
    package var backoff = Backoff()
    package var methods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
    /// These statuses are retried with any kind of failure.
    package var statuses: Set<Int> = [408, 500, 502, 503, 504]
    package var kinds = Self.networkKinds
    /// Whether responses with these statuses are retried although no validator rejects them. Alamofire does not.
    package var repeatsResponses = true
    /// Whether methods that are not listed are repeated, too, if the request had provably not been sent.
    package var repeatsUnsent = false
    /// Whether the server's Retry-After replaces a shorter delay.
    package var respectsRetryAfter = true
    /// The longest Retry-After, in seconds: no retry if the server requests a longer wait. Default: 60.
    package var longestRetryAfter = 60.0
    /// No retry begins later than so many seconds after the start of the exchange; nil for no limit.
    package var deadline: Double?

    package init() {}

    /// Network failures that may be transient.
    package static let networkKinds: Set<HTTPFailure.Kind> = [
        .nameNotFound, .connectionRefused, .unreachable, .connectionLost, .timedOut, .tlsHandshakeFailed, .offline,
        .proxyFailed,
    ]

    /// Retries only lost connections, with no statuses.
    package static var connectionLost: RetryPolicy {
        var policy = RetryPolicy()
        policy.statuses = []
        policy.kinds = [.connectionLost]
        return policy
    }

    package func verdict(_ context: RetryContext) -> RetryVerdict {
        guard context.retries < limit, isRepeatable(context), isWorthwhile(context) else { return .doNotRetry }
        var delay = backoff.delay(after: context.retries, chance: context.chance)
        if respectsRetryAfter, let wished = RetryAfter.seconds(context.fields, now: context.now, age: context.age) {
            guard wished <= longestRetryAfter else { return .doNotRetry }
            delay = max(delay, wished)
        }
        if let deadline, context.elapsed + delay > deadline { return .doNotRetry }
        return .retry(after: delay)
    }

    private func isRepeatable(_ context: RetryContext) -> Bool {
        if methods.contains(context.method) { return true }
        return repeatsUnsent && context.status == nil && context.failure?.sent == .notSent
    }

    private func isWorthwhile(_ context: RetryContext) -> Bool {
        let hasStatus = context.status.map(statuses.contains) ?? false
        guard let failure = context.failure else { return hasStatus && repeatsResponses }
        return hasStatus || kinds.contains(failure.kind)
    }
}
