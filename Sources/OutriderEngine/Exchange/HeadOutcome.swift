// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension Exchange {
    /// The outcome so far when only the head has arrived; nil before the head.
    package var headOutcome: ExchangeOutcome? {
        let (snapshot, request) = state.withLock { ($0.snapshot, $0.request) }
        guard let head = snapshot.head else { return nil }
        var (url, method) = (self.url, self.method)
        if case .success(let attempt) = request {
            method = attempt.method
            // the caller's text stays, unless a redirect or an adapter changed the URL
            if plan != nil || !snapshot.redirects.isEmpty { url = attempt.url.described }
        }
        return ExchangeOutcome(
            url: url, method: method, head: head, body: .none, bodyBytes: 0, isTruncated: false, failure: nil,
            attempts: snapshot.attempts, redirects: snapshot.redirects, timelines: [], total: 0)
    }
}
