// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOHTTP1

/// What an answer may make us hold in memory before its body begins.
enum HTTP1Limits {
    /// Names and values of all fields of one head, or of all trailers; also of a single one.
    static let headBytes = 64 << 10
    /// Fields of one answer, trailers included.
    static let fields = 1_000
    /// Heads with a 1xx status before the final one.
    static let informational = 20

    static var decoder: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = headBytes
        limits.maxHeaderListSize = headBytes
        limits.maxHeaderFieldCount = fields
        return limits
    }
}
