// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// How an exchange ended: all that was learned, whether it went well or not.
package struct ExchangeOutcome: Sendable {
    package enum Body: Sendable {
        /// Empty, discarded, or never begun.
        case none
        /// Charged where it stays for others to ask for.
        case memory([UInt8], MemoryCharge?)
        case kept(KeptBody)
    }

    package var url: String
    package var method: String
    /// Once a head arrived.
    package var head: ExchangeHead?
    package var body: Body
    /// Bytes of the body that arrived, decoded, wherever they went.
    package var bodyBytes: Int
    /// Whether the body was cut short.
    package var isTruncated: Bool
    package var failure: HTTPFailure?
    package var attempts: Int
    /// Those of the last attempt, in order.
    package var redirects: [RedirectHop] = []
    /// One per sending that got far enough to have one: attempts, and redirects within them.
    package var timelines: [Timeline]
    /// From start to end, in seconds.
    package var total: Double
    /// What `download.resume` goes on with, where a download did not come to its end and can.
    package var resumeData: String?
    /// What the server calls the file of a download.
    package var suggestedName: String?
    /// Fields that came behind the body (RFC 9110 section 6.5); empty unless all of the body came.
    package var trailers: HTTPFields = []
}

extension MonitorDetail.Finish {
    init(_ outcome: ExchangeOutcome) {
        self.init(
            method: outcome.method, url: outcome.url, status: outcome.head?.status, attempts: outcome.attempts,
            redirects: outcome.redirects.count, bytes: outcome.bodyBytes, total: outcome.total,
            failure: outcome.failure)
    }
}

extension ExchangeOutcome {
    /// What is known when only the head has come.
    package init(head: ExchangeHead, of exchange: Exchange, attempts: Int) {
        self.init(
            url: exchange.url, method: exchange.method, head: head, body: .none, bodyBytes: 0, isTruncated: false,
            failure: nil, attempts: attempts, timelines: [], total: 0)
    }
}
