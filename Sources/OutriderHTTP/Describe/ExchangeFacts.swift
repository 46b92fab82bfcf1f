// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The facts of an exchange, for display: request, response and timing.
package struct ExchangeFacts: Sendable {
    package var method: String
    package var url: String
    /// The last attempt; nil if the request could not be built.
    package var attempt: Attempt?
    /// In place of the coded bytes of the request's body: those before the coding; nil if unknown.
    package var plainRequestBody: [UInt8]?
    /// Once a head arrived.
    package var head: ResponseHead?
    /// The received body, or its beginning; nil if hidden or not kept.
    package var body: [UInt8]?
    /// Bytes of the received body, decoded.
    package var bodySize: Int
    /// The file that the client finds the received body in; nil for a body elsewhere.
    package var file: String?
    /// The length of the resume data of a download; nil if there is none.
    package var resumeBytes: Int?
    package var failure: HTTPFailure?
    package var attempts: Int
    /// The redirects of the last attempt.
    package var redirects: [RedirectHop] = []
    /// Of the last attempt; nil if nothing was sent.
    package var timeline: Timeline?
    /// From start to end, in seconds; nil while the exchange runs.
    package var total: Double?

    package init(method: String, url: String) {
        self.method = method
        self.url = url
        bodySize = 0
        attempts = 0
    }
}

extension Attempt {
    /// The fields in wire order, including those that the transport adds.
    package var wireFields: HTTPFields {
        var fields = fields
        if !fields.contains("Host") { fields.list.insert(HTTPFields.Field("Host", url.authority), at: 0) }
        if decodesContent, !fields.contains("Accept-Encoding"), !fields.contains("Range") {
            fields.add("Accept-Encoding", ContentCoding.offered)
        }
        if case .none = body, !["POST", "PUT", "PATCH"].contains(method) { return fields }
        if expectsContinue, body.size != 0 { fields.add("Expect", "100-continue") }
        if let size = body.size {
            fields.add("Content-Length", "\(size)")
        } else {
            fields.add("Transfer-Encoding", "chunked")
        }
        return fields
    }
}
