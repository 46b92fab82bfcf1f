// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP

/// A whole body in a content coding, decoded outside of an attempt.
package enum CodedBody {
    /// The decoded bytes, and why they are not all; nil if the codings are unknown or none.
    ///
    /// - Parameters:
    ///   - fields: of the response.
    ///   - isWhole: the coding must end with the body.
    ///   - most: limit of the decoded bytes.
    package static func decoded(
        _ body: [UInt8], _ fields: HTTPFields, from host: String, isWhole: Bool, most: Int
    ) -> (bytes: [UInt8], failure: HTTPFailure?)? {
        guard var decoder = ContentDecoder(codings: fields.all("Content-Encoding"), host: host) else { return nil }
        var bytes: [UInt8] = []
        do throws(HTTPFailure) {
            decoder.feed(ByteBuffer(bytes: body))
            while let piece = try decoder.next() {
                if bytes.count > most - piece.readableBytes {
                    throw HTTPFailure(bodyFrom: host, isLongerThan: most)
                }
                bytes.append(contentsOf: piece.readableBytesView)
            }
            if isWhole { try decoder.finish() }
            return (bytes, nil)
        } catch {
            return (bytes, error)
        }
    }

    /// The body without its coding, so that secrets in the body can be found; nil if the coding is damaged, or if the
    /// decoded body has more than `most` bytes. A body without a known coding is returned as it is.
    package static func plain(
        _ body: [UInt8], _ fields: HTTPFields, from host: String, isWhole: Bool, most: Int
    ) -> [UInt8]? {
        guard let found = decoded(body, fields, from: host, isWhole: isWhole, most: most) else { return body }
        if found.failure == nil { return found.bytes }
        // a field may name a coding that the body does not have
        let isPlain = found.bytes.count >= min(body.count, CodingRoom.piece) && body.starts(with: found.bytes)
        return isPlain ? body : nil
    }
}
