// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The room for a client's payloads in private files without names, one after the other: many payloads share a file, and
/// so a descriptor. A file ends with its last payload.
final class SpillRoom: Sendable {
    /// A file begins no further payload behind this: 256 MiB.
    private static let mostBytes = 256 << 20
    /// Payloads begin at multiples of this, so that freed ranges are whole blocks of a file system.
    private static let block = 4096

    private struct State {
        weak var file: OpenFile?
        /// Where the next payload begins.
        var end = 0
    }

    private let state = Mutex(State())

    /// The place for a payload of so many bytes. Blocks.
    func place(_ bytes: Int, in workspace: Workspace) throws(HTTPFailure) -> (file: OpenFile, offset: Int) {
        try state.withLock { state throws(HTTPFailure) in
            var file = state.file
            if file == nil || state.end >= Self.mostBytes {
                file = OpenFile(try PosixFile(namelessAt: try workspace.newPath()))
                (state.file, state.end) = (file, 0)
            }
            guard let file else { throw HTTPFailure(.fileWriteFailed, "a private file is gone") }
            let offset = state.end
            let (last, block) = (offset &+ bytes, Self.block)
            state.end = last &+ (block &- last % block) % block
            return (file, offset)
        }
    }
}
