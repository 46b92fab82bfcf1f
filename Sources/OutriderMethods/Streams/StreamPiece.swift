// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

extension StreamMachine {
    /// Consecutive items, with their position.
    package struct Piece: Sendable {
        package var items: [StreamItem]
        package var offset: Int
        /// The bytes of the body that the items cover.
        package var bytes: Int
        package var sequence: Int
    }

    /// The next action of the runner.
    package enum Step {
        /// Get the next chunk of the source, and `feed` the machine.
        case fetch
        case send(Piece)
        /// Build the next item from its bytes, off the event loop, and call `made`.
        case make(@Sendable () -> StreamItem.Content)
        /// Send the last event: its number, and the total of bytes.
        case end(sequence: Int, size: Int)
        case wait
        case stop
    }

    /// The outcome of a read.
    package enum Read {
        case piece(Piece, end: Bool)
        /// As in a step; then read again.
        case make(@Sendable () -> StreamItem.Content)
        case wait
        case wrongMode
        case stop
    }
}

extension StreamMachine.Piece {
    /// Whether the only item is a failure.
    package var isFailure: Bool { items.first?.isFailure ?? false }
}

extension StreamItem {
    var isFailure: Bool {
        if case .failed = content { true } else { false }
    }
}
