// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Redirects.
extension ExchangeDriver {
    /// Follows the redirect if the policy allows.
    func follow(_ response: AttemptResponse, _ attempt: Attempt) async throws(HTTPFailure) -> Bool {
        let number = machine.attempts
        let found: (attempt: Attempt, hop: RedirectHop)?
        do throws(HTTPFailure) {
            found = try await wayOn(from: response, attempt)
        } catch {
            await keepPage(of: response, attempt)
            throw error
        }
        guard case (var next, let hop)? = found else { return false }
        exchange.plan?.plan.adaptations.withholdCredentials(from: &next, home: next.url)
        withholdTokens(from: &next)
        await drain(response.body)
        note(response.body.timeline)
        next.timeouts.total = try remaining(of: attempt.timeouts.total)
        next.timeouts.whole = exchange.totalTimeout
        hops.append(hop)
        exchange.note(
            SentRequest(attempt: number, method: attempt.method, url: hop.from, status: response.status), hop: hop)
        exchange.sends(next)
        self.attempt = next
        exchange.tell(.requestRedirected) { .redirect(hop, attempt: number) }
        await told(.redirect(hop, attempt: number))
        return true
    }

    /// The next request, by the policy and by the callback; nil if the redirect itself is the response.
    private func wayOn(
        from response: AttemptResponse, _ attempt: Attempt
    ) async throws(HTTPFailure) -> (attempt: Attempt, hop: RedirectHop)? {
        let policy = exchange.plan?.plan.redirect ?? .follow
        let found = try policy.next(
            after: response.status, response.fields, to: attempt, hops: hops.count,
            strict: exchange.plan?.plan.strictTransport)
        guard var found, let name = policy.callback, let delegate = exchange.delegate else { return found }
        let moment = ExchangeMoment(
            exchange: exchange, attempt: machine.attempts, retries: machine.retries, redirects: hops, request: attempt,
            head: ExchangeHead(response))
        exchange.hold()
        defer { exchange.release() }
        guard let changed = try await delegate.redirect(name, found.hop, next: found.attempt, moment) else {
            return nil
        }
        let carried = found.attempt
        found.attempt = changed
        RedirectPolicy.leaveBody(of: carried, in: &found.attempt)
        try Adaptation.check(found.attempt, madeOf: carried)
        found.hop.to = changed.url.described
        found.hop.dropped += try policy.leaveBehind(of: carried, in: &found.attempt)
        found.attempt.takeExpectation()
        return found
    }

    /// The time left of an attempt, which its redirects share.
    func remaining(of total: Double) throws(HTTPFailure) -> Double {
        let whole = exchange.totalTimeout ?? total
        let left = whole - elapsed(inAttempt: true)
        guard left > 0 else {
            let text = "the redirects and challenges took more than \(whole) s in all"
            throw HTTPFailure(.timedOut, text, phase: .total, sent: .sent)
        }
        return left
    }
}
