// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What is known of an exchange, for showing it: what was sent, what came, and how it went.
package struct ExchangeFacts: Sendable {
    package var method: String
    package var url: String
    /// What was sent last; nil if it could not even be built.
    package var attempt: Attempt?
    /// Once a head arrived.
    package var head: ResponseHead?
    /// The body that came, or the beginning of it; nil if it is not to be shown, or not kept.
    package var body: [UInt8]?
    /// Bytes of the body that came, decoded.
    package var bodySize: Int
    package var failure: HTTPFailure?
    package var attempts: Int
    /// Those that the last attempt followed.
    package var redirects: [RedirectHop] = []
    /// Of the last sending; nil if it did not get so far.
    package var timeline: Timeline?
    /// From start to end, in seconds; nil while it runs.
    package var total: Double?

    package init(method: String, url: String) {
        self.method = method
        self.url = url
        bodySize = 0
        attempts = 0
    }
}

extension Attempt {
    /// The fields in the order in which they are written, with those that the transport adds.
    package var wireFields: HTTPFields {
        var fields = fields
        if !fields.contains("Host") { fields.list.insert(HTTPFields.Field("Host", url.authority), at: 0) }
        if decodesContent, !fields.contains("Accept-Encoding"), !fields.contains("Range") {
            fields.add("Accept-Encoding", ContentCoding.offered)
        }
        if case .none = body, !["POST", "PUT", "PATCH"].contains(method) { return fields }
        if expectsContinue { fields.add("Expect", "100-continue") }
        if let size = body.size {
            fields.add("Content-Length", "\(size)")
        } else {
            fields.add("Transfer-Encoding", "chunked")
        }
        return fields
    }
}
