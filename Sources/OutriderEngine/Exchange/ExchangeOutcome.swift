// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The result of an exchange: successful or not, with all facts.
///
/// Copies share their storage; a change to a shared outcome copies the storage first.
package struct ExchangeOutcome: Sendable {
    package enum Body: Sendable {
        /// Empty, discarded, or never begun.
        case none
        /// With a charge if the body stays for later reads.
        case memory([UInt8], MemoryCharge?)
        case kept(KeptBody)
    }

    private struct Values {
        var url: String
        var method: String
        var head: ExchangeHead?
        var body: Body
        var bodyBytes: Int
        var isTruncated: Bool
        var failure: HTTPFailure?
        var attempts: Int
        var redirects: [RedirectHop] = []
        var timelines: [Timeline]
        var total: Double
        var resumeData: String?
        var suggestedName: String?
        var trailers: HTTPFields = []
        var isConfirmation = false
    }

    // proof: changed only through `values` of an outcome with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var parts: Parts

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    package init(
        url: String, method: String, head: ExchangeHead?, body: Body, bodyBytes: Int, isTruncated: Bool,
        failure: HTTPFailure?, attempts: Int, redirects: [RedirectHop] = [], timelines: [Timeline], total: Double,
        trailers: HTTPFields = []
    ) {
        parts = Parts(
            Values(
                url: url, method: method, head: head, body: body, bodyBytes: bodyBytes, isTruncated: isTruncated,
                failure: failure, attempts: attempts, redirects: redirects, timelines: timelines, total: total,
                trailers: trailers))
    }

    package var url: String {
        get { parts.values.url }
        set { values.url = newValue }
    }
    package var method: String { parts.values.method }
    /// Nil if no head arrived.
    package var head: ExchangeHead? {
        get { parts.values.head }
        set { values.head = newValue }
    }
    /// The status of `head`, without a copy of the whole head.
    package var status: Int? { parts.values.head?.status }
    package var body: Body {
        get { parts.values.body }
        set { values.body = newValue }
    }
    /// Bytes of the body that arrived, decoded, kept or not.
    package var bodyBytes: Int {
        get { parts.values.bodyBytes }
        set { values.bodyBytes = newValue }
    }
    /// Whether the body was cut short.
    package var isTruncated: Bool { parts.values.isTruncated }
    package var failure: HTTPFailure? {
        get { parts.values.failure }
        set { values.failure = newValue }
    }
    package var attempts: Int { parts.values.attempts }
    /// Of the last attempt, in order.
    package var redirects: [RedirectHop] {
        get { parts.values.redirects }
        set { values.redirects = newValue }
    }
    /// Of each request that was sent: attempts, and redirects within them.
    package var timelines: [Timeline] { parts.values.timelines }
    /// From start to end, in seconds.
    package var total: Double { parts.values.total }
    /// The argument for `download.resume`, if an unfinished download can be resumed.
    package var resumeData: String? {
        get { parts.values.resumeData }
        set { values.resumeData = newValue }
    }
    /// The file name that the server suggests for a download.
    package var suggestedName: String? {
        get { parts.values.suggestedName }
        set { values.suggestedName = newValue }
    }
    /// Whether the head is that of a 416 which confirmed the file of a download, and tells nothing of the file.
    package var isConfirmation: Bool {
        get { parts.values.isConfirmation }
        set { values.isConfirmation = newValue }
    }
    /// Trailer fields (RFC 9110 section 6.5); empty unless the body arrived completely.
    package var trailers: HTTPFields {
        get { parts.values.trailers }
        set { values.trailers = newValue }
    }
}

extension MonitorDetail.Finish {
    init(_ outcome: ExchangeOutcome) {
        self.init(
            method: outcome.method, url: outcome.url, status: outcome.status, attempts: outcome.attempts,
            redirects: outcome.redirects.count, bytes: outcome.bodyBytes, total: outcome.total,
            failure: outcome.failure)
    }
}
