// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A scanner's finding at the front of the bytes that are not yet consumed. Ranges and counts are relative to that
/// front; the caller drops `consumed` bytes and calls again, until it gets `.more(consumed: 0)`.
package enum FrameStep: Equatable {
    /// No whole frame yet.
    case more(consumed: Int)
    /// The bytes of a JSON text.
    case frame(Range<Int>, consumed: Int)
    /// The input ended inside this frame.
    case cut(Range<Int>, consumed: Int)
    /// A frame over the limit: its first bytes (at most 4 KiB, to look for the id). The rest is skipped by later steps.
    case tooLong(Range<Int>, consumed: Int)
    /// The same for a frame that `FrameScanner.refuse` gave up.
    case refused(Range<Int>, consumed: Int)
    /// The peer speaks HTTP.
    case http
    /// The rest of the input cannot be understood; the reason is for a person.
    case broken(String)
}

/// How a connection separates its messages.
package enum Framing: String, Sendable, CaseIterable {
    /// A JSON text per line.
    case line
    /// `Content-Length: N`, an empty line, N bytes.
    case header
}

package struct FrameLimits: Sendable {
    /// Bytes of a message. Default 16 MiB.
    package var message = 16 << 20
    /// Bytes of a header block. Default 8 KiB.
    package var header = 8 << 10

    package init() {}

    /// Length of the beginning of an oversized message, in bytes, where its id is searched.
    package static let glimpse = 4096
}
