// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

/// Bodies without their content coding, as they are shown: no secret can be masked within a coding.
package enum PlainBody {
    /// Limit of the bytes of a request body in a command line, decoded.
    private static let mostInCommand = 1 << 20

    /// The body without its coding; nil if the coding is damaged, or if the decoded body has more than `most` bytes.
    ///
    /// - Parameter isWhole: the coding must end with the body.
    package static func decoded(
        _ body: [UInt8], _ fields: HTTPFields, isWhole: Bool, most: Int
    ) async -> [UInt8]? {
        await background { CodedBody.plain(body, fields, from: "", isWhole: isWhole, most: most) }
    }

    /// The request with a body that is compressed while it is sent, in place of compressed bytes. Bytes that cannot be
    /// decoded are left out.
    package static func request(_ attempt: Attempt) async -> Attempt {
        guard attempt.hasCodedBody, case .bytes(let bytes) = attempt.body else { return attempt }
        let codings = attempt.fields.all("Content-Encoding")
        let plain = await decoded(bytes, attempt.fields, isWhole: true, most: mostInCommand)
        var shown = attempt
        if let plain, plain == bytes { return attempt }
        if let plain, codings.count == 1, let coding = BodyCoding(rawValue: codings[0].lowercased()) {
            shown.body = .composed(ComposedBody([.bytes(plain)], coding: coding))
        } else {
            shown.body = .file(path: "-", size: Int64(bytes.count))  // safe: an Int is an Int64
        }
        return shown
    }
}
