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
}
