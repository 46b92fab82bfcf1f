// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Synchronization

/// A private file that a body is written to, piece by piece; deleted with the last reference unless handed over.
final class SpillFile: Sendable {
    /// Bytes to gather before writing.
    static let pieceBytes = 256 << 10

    let path: String
    private let quota: BodyQuota
    private let file: PosixFile
    private let counted = Mutex(0)

    /// Blocks.
    init(in store: BodyStore) throws(HTTPFailure) {
        quota = store.quota
        path = try store.workspace.newPath()
        file = try PosixFile(creating: path)
    }

    deinit {
        let counted = counted.withLock { $0 }
        guard counted >= 0 else { return }
        unlink(path)
        quota.giveFile(counted)
    }

    /// Blocks. One caller at a time. Fails with limitExceeded when the client's files are full.
    func append(_ bytes: [UInt8]) throws(HTTPFailure) {
        guard quota.takeFile(bytes.count) else {
            throw HTTPFailure(
                .limitExceeded,
                "the kept bodies would exceed \(quota.limits.files) bytes; release some with response.release")
        }
        counted.withLock { $0 += bytes.count }
        try file.write(bytes, path: path)
    }

    /// From now on somebody else deletes it, and gives the quota back.
    func handOver() { counted.withLock { $0 = -1 } }
}
