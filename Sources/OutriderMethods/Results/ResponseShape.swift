// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The Response of the contract: the end of an exchange, successful or not.
struct ResponseShape: JSONEncodable {
    var outcome: ExchangeOutcome
    var body: ResponseBodyShape
    /// Of the exchange, or of the conversion of the body.
    var failure: HTTPFailure?
    /// The request's handle, unless hidden.
    var request: String?
    var tag: String?
    var showsMetrics = false
    var showsCertificates = false
    /// False only if the headers exceed the client's longest message.
    var showsHeaders = true
    /// The results of the handlers, in their order; empty without handlers.
    var results: [HandlerResult] = []

    func encode(to writer: inout JSONWriter) {
        writer.object { encodeMembers(to: &$0) }
    }

    var expectedBytes: Int {
        let fields = showsHeaders ? (outcome.head?.fields.list.count ?? 0) &+ outcome.trailers.list.count : 0
        return 512 &+ fields &* 80 &+ body.expectedBytes
    }

    var raw: [UInt8]? { body.raw }

    private func encodeMembers(to writer: inout JSONWriter) {
        writer.member("ok", failure == nil)
        writer.member("request", request)
        writer.member("url", outcome.url)
        writer.member("method", outcome.method)
        writer.member("tag", tag)
        let head = outcome.head
        if let head {
            writer.member("status", head.status)
            if showsHeaders { writer.member("headers", FieldsShape(head.fields)) }
            writer.member("httpVersion", head.version)
            if showsHeaders, !outcome.trailers.list.isEmpty {
                writer.member("trailers", FieldsShape(outcome.trailers))
            }
        }
        writer.member("body", body)
        if let failure { writer.member("error", FailureShape(failure)) }
        writer.member("resumeData", outcome.resumeData)
        writer.member("suggestedFilename", outcome.suggestedName)
        if !results.isEmpty { writer.member("results", results) }
        writer.member("attempts", outcome.attempts)
        writer.member("redirects", outcome.redirects.map(RedirectShape.init))
        writer.member("cache", CacheReportShape(head?.cache))
        if showsMetrics { writer.member("metrics", MetricsShape(outcome)) }
        guard let timeline = outcome.timelines.last else { return }
        writer.member("remote", timeline.remote)
        if let facts = timeline.tlsFacts { writer.member("tls", TLSShape(facts, showsChain: showsCertificates)) }
    }
}
