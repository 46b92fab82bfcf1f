// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Undoes one content coding piece by piece. Not for two threads at once.
protocol DecodingStream: AnyObject {
    /// Whether what was coded has ended; it may go on in a format that has several parts.
    var isComplete: Bool { get }

    /// More of what is coded; only when it needs input.
    func feed(_ more: ByteBuffer)

    func next() -> DecodingStep
}

enum DecodingStep {
    /// At most 64 KiB.
    case output(ByteBuffer)
    case needsInput
    case malformed(String)
}
