// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Bodies in a content coding: an attempt that does not decode records such a body as it came. Cassettes have all other
/// bodies decoded, as HAR requires.
extension CassetteEntry {
    /// Limit of the decoded bytes of a body.
    private static let mostDecoded = 256 << 20

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

    /// Whether the body is a part of a coded body, which no decoder can read.
    private var isCodedPart: Bool {
        guard let head, head.status == 206, messages == nil, !body.isEmpty else { return false }
        return ContentCoding.layers(head.fields.all("Content-Encoding"))?.isEmpty == false
    }

    /// The entry with its body decoded and without its coding, so that secrets can be found and masked; the entry
    /// itself if the body has no coding; nil if the body cannot be decoded, or has an unknown coding.
    func decoded(_ mask: CassetteMask) -> CassetteEntry? {
        if messages == nil, let fields = head?.fields, !CassetteMask.reads(body, of: fields) { return nil }
        if isCodedPart, mask.searches(head?.fields.first("Content-Type")) { return nil }
        guard isCoded, !body.isEmpty, let fields = head?.fields else { return self }
        guard let plain = CodedBody.plain(body, fields, from: "", isWhole: false, most: Self.mostDecoded) else {
            return nil
        }
        var entry = self
        entry.body = plain
        entry.isCoded = false
        entry.chunks = []
        entry.head?.fields.remove("Content-Encoding")
        return entry
    }

    /// The entry without its secrets. A coded body without a secret stays as it came; another body is decoded, since a
    /// secret cannot be masked within a coding.
    ///
    /// - Parameter decoded: the entry with its body decoded.
    func masked(_ mask: CassetteMask, decoded: CassetteEntry) -> CassetteEntry {
        let masked = decoded.masked(mask)
        guard isCoded, masked.body == decoded.body else { return masked }
        var entry = self
        (entry.body, entry.chunks) = ([], [])
        entry = entry.masked(mask)
        (entry.body, entry.chunks) = (body, chunks)
        return entry
    }
}
