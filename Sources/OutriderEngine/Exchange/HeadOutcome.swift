// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension ExchangeOutcome {
    /// The outcome so far when only the head has arrived.
    package init(head: ExchangeHead, of exchange: Exchange, attempts: Int) {
        self.init(
            url: exchange.url, method: exchange.method, head: head, body: .none, bodyBytes: 0, isTruncated: false,
            failure: nil, attempts: attempts, timelines: [], total: 0)
    }
}
