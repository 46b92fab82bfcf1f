// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How the end of a response body is found (RFC 9112 section 6.3).
package enum BodyFraming: Sendable, Equatable {
    /// No body, whatever the fields declare.
    case none
    /// A body of exactly this many bytes.
    case length(Int64)
    /// Chunks, each with its size, and a last one of size zero (RFC 9112 section 7.1).
    case chunked
    /// All bytes until the connection ends.
    case untilClose

    /// The framing that a head announces, and whether the start of the next response is certain.
    ///
    /// Throws `malformedResponse` for lengths that are no number, for two lengths, for transfer codings other than a
    /// single final `chunked`, and for a length beside chunks, which ought to be handled as an error: a guess would let
    /// a server put a response into another.
    package static func of(_ head: ResponseHead, to method: String) throws(HTTPFailure) -> (BodyFraming, clear: Bool) {
        let fields = head.fields
        let chunked = try isChunked(fields)
        let length = try declaredLength(fields)
        if (100..<200).contains(head.status) || head.status == 204 {
            return (.none, !chunked && length ?? 0 == 0)
        }
        if method == "HEAD" { return (.none, true) }
        // a length here is that of another response, and is ignored; but many servers with a length send a body all the
        // same
        if head.status == 304 { return (.none, !chunked && length ?? 0 == 0) }
        if method == "CONNECT" && (200..<300).contains(head.status) { return (.none, false) }
        if chunked, length != nil {
            throw HTTPFailure(
                .malformedResponse, "the response has both a Content-Length and a Transfer-Encoding", sent: .sent)
        }
        if chunked { return (.chunked, head.version >= .http11) }
        if let length { return (.length(length), true) }
        return (.untilClose, false)
    }

    /// The Content-Length, nil if there is none. A second value is refused even if both are equal, as RFC 9110 section
    /// 8.6 permits: such a head was forged, or combined from others.
    package static func declaredLength(_ fields: HTTPFields) throws(HTTPFailure) -> Int64? {
        var found: Int64?
        for field in fields.list where HTTPFields.same(field.name, "Content-Length") {
            guard found == nil else { throw refused("the response has more than one Content-Length") }
            if let length = FieldRules.decimal(field.value) {
                found = length
                continue
            }
            let value = FieldRules.trimmed(field.value[...])
            guard let length = FieldRules.decimal(value) else {
                throw refused("the response's Content-Length is \(value.isEmpty ? "empty" : "not a number of bytes")")
            }
            found = length
        }
        return found
    }

    private static func refused(_ text: String) -> HTTPFailure {
        HTTPFailure(.malformedResponse, text, sent: .sent)
    }

    private static func isChunked(_ fields: HTTPFields) throws(HTTPFailure) -> Bool {
        guard fields.contains("Transfer-Encoding") else { return false }
        let codings = fields.all("Transfer-Encoding").flatMap(FieldRules.listed)
        guard codings.count == 1, let coding = codings.first, HTTPFields.same(coding, "chunked") else {
            throw HTTPFailure(
                .malformedResponse, "the response's Transfer-Encoding is not chunked, the only one we offered",
                sent: .sent)
        }
        return true
    }
}
