// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

struct RetryPolicyTests {
    private static let lost = HTTPFailure(.connectionLost, "lost", sent: .maybeSent)
    private static let unacceptable = HTTPFailure(.unacceptableStatusCode, "status", sent: .sent)

    private static func verdict(
        _ policy: RetryPolicy = RetryPolicy(), _ method: String = "GET", _ failure: HTTPFailure? = lost,
        status: Int? = nil, fields: HTTPFields = [], retries: Int = 0, elapsed: Double = 0, chance: Double = 0
    ) -> RetryVerdict {
        policy.verdict(
            RetryContext(
                method: method, failure: failure, status: status, fields: fields, retries: retries, elapsed: elapsed,
                now: 1_000_000_000, chance: chance))
    }

    @Test func `by default there are two retries, after half a second and a second [K1]`() {
        #expect(Self.verdict(retries: 0) == .retry(after: 0.5))
        #expect(Self.verdict(retries: 1) == .retry(after: 1))
        #expect(Self.verdict(retries: 2) == .doNotRetry)
    }

    @Test func `a higher limit goes on doubling [K2]`() {
        var policy = RetryPolicy()
        policy.limit = 4
        let verdicts = (0...4).map { Self.verdict(policy, retries: $0) }
        #expect(verdicts == [.retry(after: 0.5), .retry(after: 1), .retry(after: 2), .retry(after: 4), .doNotRetry])
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]) func `what may be repeated is [K3]`(
        method: String
    ) {
        #expect(Self.verdict(RetryPolicy(), method) == .retry(after: 0.5))
    }

    @Test(arguments: ["POST", "PATCH", "CONNECT", "get", ""]) func `what may not is not`(method: String) {
        #expect(Self.verdict(RetryPolicy(), method) == .doNotRetry)
        #expect(Self.verdict(RetryPolicy(), method, Self.unacceptable, status: 503) == .doNotRetry)
    }

    @Test func `five statuses count, whatever the failure [K3]`() {
        let counted = (100...599).filter {
            Self.verdict(RetryPolicy(), "GET", Self.unacceptable, status: $0) != .doNotRetry
        }
        #expect(counted == [408, 500, 502, 503, 504])
    }

    @Test func `only failures of the network count by themselves [K4] [K5]`() {
        let counted = HTTPFailure.Kind.allCases.filter {
            Self.verdict(RetryPolicy(), "GET", HTTPFailure($0, "")) != .doNotRetry
        }
        #expect(Set(counted) == RetryPolicy.networkKinds)
        #expect(counted.count == 8)
    }

    @Test func `a status counts although no validator rejects it, unless told otherwise [K6]`() {
        var policy = RetryPolicy()
        #expect(Self.verdict(policy, "GET", nil, status: 503) == .retry(after: 0.5))
        #expect(Self.verdict(policy, "GET", nil, status: 200) == .doNotRetry)
        policy.repeatsResponses = false
        #expect(Self.verdict(policy, "GET", nil, status: 503) == .doNotRetry)
    }

    @Test func `for lost connections there are no statuses and no other failures [K7]`() {
        let policy = RetryPolicy.connectionLost
        #expect(Self.verdict(policy) == .retry(after: 0.5))
        #expect(Self.verdict(policy, "GET", Self.unacceptable, status: 503) == .doNotRetry)
        #expect(Self.verdict(policy, "GET", HTTPFailure(.timedOut, "")) == .doNotRetry)
    }

    @Test func `what was provably not sent may be repeated, if the policy says so`() {
        var policy = RetryPolicy()
        policy.repeatsUnsent = true
        let refused = HTTPFailure(.connectionRefused, "refused", sent: .notSent)
        #expect(Self.verdict(policy, "POST", refused) == .retry(after: 0.5))
        #expect(Self.verdict(policy, "POST", Self.lost) == .doNotRetry)
        #expect(Self.verdict(RetryPolicy(), "POST", refused) == .doNotRetry)
    }

    @Test func `the server's Retry-After counts where it is longer, up to a limit`() {
        func verdict(_ value: String) -> RetryVerdict {
            Self.verdict(RetryPolicy(), "GET", Self.unacceptable, status: 503, fields: [.init("Retry-After", value)])
        }
        #expect(verdict("3") == .retry(after: 3))
        #expect(verdict("0") == .retry(after: 0.5))
        #expect(verdict("60") == .retry(after: 60))
        #expect(verdict("61") == .doNotRetry)
        #expect(verdict("99999999999999999999999") == .doNotRetry)
        #expect(verdict("soon") == .retry(after: 0.5))
        var policy = RetryPolicy()
        policy.respectsRetryAfter = false
        let fields: HTTPFields = [.init("Retry-After", "3")]
        #expect(Self.verdict(policy, "GET", Self.unacceptable, status: 503, fields: fields) == .retry(after: 0.5))
    }

    @Test func `no retry begins after the deadline`() {
        var policy = RetryPolicy()
        policy.deadline = 2
        #expect(Self.verdict(policy, retries: 0, elapsed: 1.5) == .retry(after: 0.5))
        #expect(Self.verdict(policy, retries: 0, elapsed: 1.6) == .doNotRetry)
    }

    @Test func `delays grow to a limit, and jitter only shortens them [K8]`() {
        var backoff = Backoff()
        backoff.longest = 3
        #expect((0...5).map { backoff.delay(after: $0, chance: 0) } == [0.5, 1, 2, 3, 3, 3])
        #expect(backoff.delay(after: Int.max, chance: 0) == 3)
        backoff.jitter = .full
        #expect([0, 0.5, 1].map { backoff.delay(after: 1, chance: $0) } == [0, 0.5, 1])
        backoff.jitter = .equal
        #expect([0, 0.5, 1].map { backoff.delay(after: 1, chance: $0) } == [0.5, 0.75, 1])
        backoff.scale = 0
        #expect(backoff.delay(after: Int.max, chance: 1) == 0)
    }

    @Test(
        arguments: [
            ("5", 5.0), (" 5 ", 5.0), ("0", 0.0), ("Sun, 09 Sep 2001 01:46:50 GMT", 10.0),
            ("Sun, 09 Sep 2001 01:46:30 GMT", 0.0), ("-5", nil), ("5.5", nil), ("", nil), ("five", nil),
        ] as [(String, Double?)])
    func `Retry-After is seconds or a date`(value: String, seconds: Double?) {
        #expect(RetryAfter.seconds([.init("Retry-After", value)], now: 1_000_000_000) == seconds)
    }

    @Test(arguments: [(0, 50.0), (20, 30.0), (60, 0.0)] as [(Int64, Double)])
    func `Retry-After of a stored response counts from its arrival`(age: Int64, seconds: Double) {
        #expect(RetryAfter.seconds([.init("Retry-After", "50")], now: 1_000_000_000, age: age) == seconds)
    }

    @Test func `while there is no network it waits, for a while`() {
        let offline = Retrier.offline(wait: 1.2)
        func verdict(_ kind: HTTPFailure.Kind, _ retries: Int, _ elapsed: Double) -> RetryVerdict? {
            offline.verdict(
                RetryContext(method: "POST", failure: HTTPFailure(kind, ""), retries: retries, elapsed: elapsed))
        }
        #expect(verdict(.offline, 0, 9) == .retry(after: 0))
        #expect(verdict(.unreachable, 1, 0.5) == .retry(after: 0))
        #expect(verdict(.offline, 2, 1.2) == .doNotRetry)
        #expect(verdict(.timedOut, 0, 0) == .doNotRetry)
    }

    @Test func `a budget lets a tenth of the requests be repeated, and some more`() {
        var budget = RetryBudget()
        var retries = 0
        while budget.retry() { retries += 1 }
        #expect(retries == 500)
        for _ in 0..<101 { budget.attempted() }
        let more = (0..<11).map { _ in budget.retry() }
        #expect(more == Array(repeating: true, count: 10) + [false])
    }
}
