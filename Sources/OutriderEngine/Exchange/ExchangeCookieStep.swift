// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

extension Exchange {
    /// The request with its present cookies.
    package func withCookies(_ attempt: Attempt) -> Attempt { cookies?.shown(attempt) ?? attempt }
}

/// Cookies, at each attempt and at each redirect.
extension ExchangeDriver {
    /// The request with its Cookie field; reloads a shared jar first if another process has changed the file.
    func addCookies(
        of cookies: ExchangeCookies, to outgoing: Attempt,
        then completion: @escaping @Sendable (ExchangeCookies.Applied) -> Void
    ) {
        if let found = cookies.apply(to: outgoing) {
            tell(found.leftOut)
            return completion(found)
        }
        wait(for: { await cookies.load() }) {
            // the jar keeps changing: slightly old cookies are better than none
            let found = cookies.apply(to: outgoing, evenIfOld: true)
            self.tell(found?.leftOut ?? [])
            completion(found ?? ExchangeCookies.Applied(attempt: outgoing))
        }
    }

    /// Takes the cookies of a final head before any other step. Waits until a jar on disk has stored them, so that a
    /// cookie whose response a client has seen is never lost.
    func takeCookies(
        of response: AttemptResponse, to attempt: Attempt, then completion: @escaping @Sendable () -> Void
    ) {
        guard let taken = cookies?.take(response.fields, from: attempt) else { return completion() }
        tell(taken.changes.filter { $0.kind == .refused })
        guard let commit = taken.commit else { return completion() }
        wait(for: { await commit.value() }, then: completion)
    }

    private func tell(_ refused: [CookieChange]) {
        guard !refused.isEmpty else { return }
        exchange.tell(.cookiesRefused) { .cookies(refused, attempt: exchange.attemptNumber) }
    }
}
