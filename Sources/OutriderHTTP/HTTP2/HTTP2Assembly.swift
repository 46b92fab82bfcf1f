// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A block of fields that continues in further frames.
struct HTTP2Assembly {
    static let mostBytes = 64 << 10
    static let mostFrames = 16

    let stream: UInt32
    let endStream: Bool
    var block: [UInt8]
    var frames = 0
}
