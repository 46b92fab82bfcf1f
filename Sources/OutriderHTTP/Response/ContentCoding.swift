// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What has been done to a body on its way (RFC 9110 section 8.4).
package enum ContentCoding: Sendable, Equatable {
    /// Nothing that must be undone.
    case identity
    case gzip
    /// The zlib format or, from servers that took the name literally, bare deflate: see `isZlib`.
    case deflate
    /// Something that is not undone here, or several codings: the body is given as it came.
    case untouched(String)

    package static func of(_ fields: HTTPFields) -> ContentCoding {
        let codings = fields.all("Content-Encoding").flatMap(FieldRules.listed).map { $0.lowercased() }
            .filter { $0 != "identity" }
        guard let coding = codings.first else { return .identity }
        guard codings.count == 1 else { return .untouched(codings.prefix(8).joined(separator: ", ")) }
        return switch coding {
        case "gzip", "x-gzip": .gzip
        case "deflate": .deflate
        default: .untouched(coding)
        }
    }

    /// Whether two bytes begin the zlib format (RFC 1950 section 2.2) rather than bare deflate.
    package static func isZlib(_ first: UInt8, _ second: UInt8) -> Bool {
        // 256 is 8 more than a multiple of 31
        let check = (first % 31 * 8 % 31 + second % 31) % 31
        return first & 15 == 8 && first >> 4 <= 7 && check == 0
    }
}

/// How much a compressed body may become: a small answer must not fill the memory.
package struct InflationLimits: Sendable, Equatable {
    /// Most decoded bytes; nil for no limit.
    package var bytes: Int64?
    /// Most decoded bytes for each byte on the wire, once `free` bytes have been decoded. Default 200.
    package var ratio: Int64 = 200
    /// So many decoded bytes are given whatever the ratio. Default 10 MiB.
    package var free: Int64 = 10 << 20

    package init(bytes: Int64? = nil) { self.bytes = bytes }

    /// Why decoding must end here, or nil.
    package func failure(received: Int64, decoded: Int64) -> HTTPFailure? {
        if let bytes, decoded > bytes {
            return HTTPFailure(
                .limitExceeded, "the answer's body is longer than \(bytes) bytes: save it to a file", sent: .sent)
        }
        let (most, overflow) = max(received, 1).multipliedReportingOverflow(by: ratio)
        if decoded > free, !overflow, decoded > most {
            return HTTPFailure(
                .limitExceeded, "the answer decompresses to more than \(ratio) times its size: \(decoded) bytes so far",
                sent: .sent)
        }
        return nil
    }
}
