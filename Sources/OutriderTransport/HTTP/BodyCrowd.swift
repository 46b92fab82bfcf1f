// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The bodies that are being written, and how large their pieces are.
enum BodyCrowd {
    /// Large, because a round trip to another thread costs as much as copying 100 KiB; small beside many other bodies,
    /// whose servers may all be slow.
    static var pieceBytes: Int { isCrowded ? 64 << 10 : 512 << 10 }

    private static let most = 32
    private static let writers = Atomic(0)
    private static var isCrowded: Bool { writers.load(ordering: .relaxed) > most }

    static func enter() { writers.wrappingAdd(1, ordering: .relaxed) }

    static func leave() { writers.wrappingSubtract(1, ordering: .relaxed) }
}
