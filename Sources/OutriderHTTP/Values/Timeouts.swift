// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Time limits for the phases of an attempt, in seconds. The parser refuses zero and negative values.
package struct Timeouts: Sendable, Equatable {
    /// Name resolution. Default 5.
    package var resolve = 5.0
    /// TCP connection to an address of the host. Default: 10.
    package var connect = 10.0
    /// TLS handshake. Default 10.
    package var tls = 10.0
    /// From the end of the request to the end of the response's head. A 1xx head restarts this limit. Default: 60.
    package var firstByte = 60.0
    /// Longest silence while either body is moving. Default 60.
    package var idle = 60.0
    /// Bytes a second, on the wire, that a body must bring or take on average in every `idle` seconds in which that is
    /// waited for; nil for any number, which is the default.
    package var minimumRate: Int?
    /// Everything together, waiting for a connection included. Default 300.
    package var total = 300.0
    /// The limit that `total` is the rest of, for a later request of an attempt; nil if `total` is the limit.
    package var whole: Double?
    /// All attempts together, with the waits between them; nil for no limit, the default.
    package var resource: Double?

    /// The default of `total` if the body is a stream: a year.
    package static let streamTotal = 31_536_000.0
    /// The default of `firstByte` and `idle` for servers that may be silent for minutes.
    package static let quiet = 300.0

    package init() {}
}
