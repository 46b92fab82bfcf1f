// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The result of an exchange: successful or not, with all facts.
package struct ExchangeOutcome: Sendable {
    package enum Body: Sendable {
        /// Empty, discarded, or never begun.
        case none
        /// With a charge if the body stays for later reads.
        case memory([UInt8], MemoryCharge?)
        case kept(KeptBody)
    }

    package var url: String
    package var method: String
    /// Nil if no head arrived.
    package var head: ExchangeHead?
    package var body: Body
    /// Bytes of the body that arrived, decoded, kept or not.
    package var bodyBytes: Int
    /// Whether the body was cut short.
    package var isTruncated: Bool
    package var failure: HTTPFailure?
    package var attempts: Int
    /// Of the last attempt, in order.
    package var redirects: [RedirectHop] = []
    /// Of each request that was sent: attempts, and redirects within them.
    package var timelines: [Timeline]
    /// From start to end, in seconds.
    package var total: Double
    /// The argument for `download.resume`, if an unfinished download can be resumed.
    package var resumeData: String?
    /// The file name that the server suggests for a download.
    package var suggestedName: String?
    /// Trailer fields (RFC 9110 section 6.5); empty unless the body arrived completely.
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
    /// The outcome so far when only the head has arrived.
    package init(head: ExchangeHead, of exchange: Exchange, attempts: Int) {
        self.init(
            url: exchange.url, method: exchange.method, head: head, body: .none, bodyBytes: 0, isTruncated: false,
            failure: nil, attempts: attempts, timelines: [], total: 0)
    }
}
