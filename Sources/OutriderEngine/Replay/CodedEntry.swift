// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Bodies in a content coding: an attempt that does not decode records such a body as it came. Cassettes have all other
/// bodies decoded, as HAR requires.
extension CassetteEntry {
    /// Limit of the decoded bytes of a body.
    private static let mostDecoded = 256 << 20

    /// Whether the body is one that an attempt with decoding would have decoded.
    var hasCoding: Bool {
        guard let head, head.status != 206, messages == nil else { return false }
        return ContentCoding.layers(head.fields.all("Content-Encoding"))?.isEmpty == false
    }

    /// Whether the body must change before it is played to the attempt.
    func isRecoded(for attempt: Attempt) -> Bool { isCoded == attempt.decodesContent && hasCoding }

    /// The entry and its body for an attempt with the other kind of body.
    ///
    /// A decoded body is played without its coding: no other coding has the same bytes.
    func recoded(_ body: [UInt8], host: String) -> (entry: CassetteEntry, body: [UInt8]) {
        var entry = self
        guard isCoded else {
            entry.head?.fields.remove("Content-Encoding")
            entry.removeDigests()
            return (entry, body)
        }
        let isWhole = !isCut && failure == nil
        guard
            let found = CodedBody.decoded(
                body, head?.fields ?? [], from: host, isWhole: isWhole, most: Self.mostDecoded)
        else { return (self, body) }
        entry.isCoded = false
        entry.chunks = []
        if let failure = found.failure { (entry.failure, entry.isCut) = (failure, false) }
        return (entry, found.bytes)
    }

    /// The entry with its body decoded and without its coding, so that secrets can be found and masked; nil for a body
    /// without a coding, or that cannot be decoded.
    func decoded() -> CassetteEntry? {
        guard isCoded, let fields = head?.fields,
            let found = CodedBody.decoded(body, fields, from: "", isWhole: false, most: Self.mostDecoded),
            found.failure == nil
        else { return nil }
        var entry = self
        entry.body = found.bytes
        entry.isCoded = false
        entry.chunks = []
        entry.head?.fields.remove("Content-Encoding")
        return entry
    }
}
