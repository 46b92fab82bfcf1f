// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The body of an attempt.
package enum AttemptBody: Sendable, Equatable {
    case none
    case bytes([UInt8])
    /// A regular file, read piece by piece; its size when the attempt began.
    case file(path: String, size: Int64)
    /// Several pieces in sequence, of which some come from files or from the client, or are compressed on the way.
    case composed(ComposedBody)

    /// The length on the wire; nil if unknown in advance, and sent in chunks.
    package var size: Int64? {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let size): size
        case .composed(let body): body.size
        }
    }

    /// The length before compression on the way; nil if unknown in advance.
    package var plainSize: Int64? {
        if case .composed(let body) = self { body.plainSize } else { size }
    }

    /// Whether the body can be sent again: a client's stream cannot, once its first byte was taken.
    package var isReplayable: Bool {
        switch self {
        case .none, .bytes, .file: true
        case .composed(let body): body.feeds.allSatisfy(\.isFresh)
        }
    }

    /// Ends the use of the body, and tells the clients that feed it.
    package func drop() {
        guard case .composed(let body) = self else { return }
        for feed in body.feeds { feed.drop() }
    }
}

/// A body of several pieces. Shared, immutable.
package final class ComposedBody: Sendable, Equatable {
    package enum Piece: Sendable {
        case bytes([UInt8])
        /// A regular file; its size when the body was composed; the pointer to its path in the caller's params.
        case file(path: String, size: Int64, pointer: String?)
        /// Bytes that went to a private file of the service.
        case spilt(any SpilledPart)
        /// A feed from a client, its length if declared, and the pointer to that length.
        case feed(any BodyFeed, length: Int64?, pointer: String?)
    }

    package let pieces: [Piece]
    /// The compression on the way.
    package let coding: BodyCoding?
    /// The length on the wire; nil if unknown in advance.
    package let size: Int64?
    /// The length of all pieces; nil if unknown in advance.
    package let plainSize: Int64?

    package init(_ pieces: [Piece], coding: BodyCoding? = nil) {
        self.pieces = pieces
        self.coding = coding
        plainSize = Self.sum(pieces)
        size = coding == nil ? plainSize : nil
    }

    package var feeds: [any BodyFeed] {
        pieces.compactMap { if case .feed(let feed, _, _) = $0 { feed } else { nil } }
    }

    /// Bytes in memory.
    package var heldBytes: Int {
        pieces.reduce(0) { if case .bytes(let bytes) = $1 { $0 &+ bytes.count } else { $0 } }
    }

    /// Whether all bytes were given as bytes, and are in private files.
    package var isSpilt: Bool {
        !pieces.isEmpty && pieces.allSatisfy { if case .spilt = $0 { true } else { false } }
    }

    private static func sum(_ pieces: [Piece]) -> Int64? {
        var sum: Int64 = 0
        for piece in pieces {
            guard let size = piece.size else { return nil }
            let (total, overflows) = sum.addingReportingOverflow(size)
            if overflows { return nil }
            sum = total
        }
        return sum
    }

    package static func == (one: ComposedBody, other: ComposedBody) -> Bool { one === other }
}

extension ComposedBody.Piece {
    /// Nil if unknown in advance.
    package var size: Int64? {
        switch self {
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let size, _): size
        case .spilt(let part): Int64(part.count)
        case .feed(_, let length, _): length
        }
    }
}

/// How a body is compressed.
package enum BodyCoding: String, Sendable, CaseIterable {
    /// Brotli (RFC 7932).
    case br
    /// zlib's container (RFC 1950), as in HTTP (RFC 9110 section 8.4.1.2).
    case deflate
    case gzip
    /// A single frame (RFC 8878) whose window is below 8 MiB (RFC 9659).
    case zstd
}
