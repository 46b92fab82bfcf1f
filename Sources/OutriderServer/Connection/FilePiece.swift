// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderRPC

/// The next bytes of a long message whose body waits in a file: they are read before they are written.
struct FilePiece {
    private enum Phase {
        case due(any SpilledPayload)
        case reading
        case read([UInt8])
    }

    enum Step {
        case fetch(any SpilledPayload, Range<Int>)
        /// The file is being read.
        case wait
        case write(ByteBuffer)
    }

    private let piece: OutgoingPiece
    private var phase: Phase

    init(_ piece: OutgoingPiece, in file: any SpilledPayload) {
        self.piece = piece
        phase = .due(file)
    }

    /// Bytes.
    var count: Int { piece.range.count }

    mutating func next() -> Step {
        switch phase {
        case .due(let file):
            phase = .reading
            return .fetch(file, piece.bodyRange)
        case .reading: return .wait
        case .read(let bytes):
            var buffer = ByteBuffer()
            buffer.reserveCapacity(piece.range.count)
            piece.forEach(body: bytes, from: piece.bodyRange.lowerBound) { buffer.writeBytes($0) }
            return .write(buffer)
        }
    }

    /// The file was read.
    mutating func fetched(_ bytes: [UInt8]) { phase = .read(bytes) }
}
