// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOHTTP1

/// Limits on the memory for a response before its body begins.
enum HTTP1Limits {
    /// Bytes of names and values of all fields of a head, or of all trailers; also of a single field.
    static let headBytes = 64 << 10
    /// Fields of a response, trailers included.
    static let fields = 1_000
    /// Heads with a 1xx status before the final head.
    static let informational = 20

    static var decoder: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = headBytes
        limits.maxHeaderListSize = headBytes
        limits.maxHeaderFieldCount = fields
        return limits
    }
}
