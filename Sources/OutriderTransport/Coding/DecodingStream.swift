// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Decodes a content coding piece by piece. Not thread-safe.
protocol DecodingStream: AnyObject {
    /// Whether the coded data has ended; a format with several parts may continue.
    var isComplete: Bool { get }

    /// Adds coded bytes; only after `needsInput`.
    func feed(_ more: ByteBuffer)

    func next() -> DecodingStep
}

enum DecodingStep {
    /// At most 64 KiB.
    case output(ByteBuffer)
    case needsInput
    case malformed(String)
}
