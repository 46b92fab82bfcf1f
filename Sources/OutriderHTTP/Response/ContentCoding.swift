// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A content coding that the service decodes (RFC 9110 section 8.4.1).
package enum ContentCoding: Sendable, Equatable {
    case gzip
    /// The zlib format or, from servers that took the name literally, bare deflate.
    case deflate
    /// Brotli (RFC 7932).
    case br
    /// RFC 8878, with windows of at most 8 MiB (RFC 9659).
    case zstd

    /// The value of Accept-Encoding where the caller wrote none.
    package static let offered = "gzip, deflate, br, zstd"

    /// The codings in the values of Content-Encoding, in the order of their application; none for `identity`.
    ///
    /// Nil if a coding is unknown, or if there are more than two: the body is then returned as received.
    package static func layers(_ values: [String]) -> [ContentCoding]? {
        var layers: [ContentCoding] = []
        for name in values.lazy.flatMap(FieldRules.listed) {
            switch name.lowercased() {
            case "identity": continue
            case "gzip", "x-gzip": layers.append(.gzip)
            case "deflate": layers.append(.deflate)
            case "br": layers.append(.br)
            case "zstd": layers.append(.zstd)
            default: return nil
            }
        }
        return layers.count > 2 ? nil : layers
    }
}

/// The limits of decompression: a small response must not fill the memory.
package struct InflationLimits: Sendable, Equatable {
    /// Most decoded bytes for each byte on the wire, once `free` bytes have been decoded. Default 200.
    package var ratio: Int64 = 200
    /// Decoded bytes that are allowed at any ratio. Default: 10 MiB.
    package var free: Int64 = 10 << 20

    package init() {}

    /// Whether decoding must end here.
    package func isExceeded(received: Int64, decoded: Int64) -> Bool {
        guard decoded > free else { return false }
        let (most, overflow) = max(received, 0).multipliedReportingOverflow(by: ratio)
        return !overflow && decoded > most
    }
}
