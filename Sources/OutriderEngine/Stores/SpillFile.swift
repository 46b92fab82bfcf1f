// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderTransport
import Synchronization

/// A private file for a body, written piece by piece; deleted with the last reference unless handed over.
final class SpillFile: Sendable {
    /// Bytes to gather before writing.
    static let pieceBytes = 256 << 10

    let path: String
    private let quota: BodyQuota
    private let opened: Mutex<OpenFile?>
    private let counted = Mutex(0)

    /// Blocks.
    init(in store: BodyStore) throws(HTTPFailure) {
        quota = store.quota
        path = try store.workspace.newPath()
        opened = Mutex(OpenFile(try PosixFile(creating: path)))
    }

    deinit {
        // closing and removing block, and the last reference may go on the event loop
        let (counted, file) = (counted.withLock { $0 }, opened.withLock { $0.take() })
        BlockingThreads.files.run(for: quota.client, isOwed: true) { [path, quota] in
            withExtendedLifetime(file) {}
            guard counted >= 0 else { return }
            unlink(path)
            quota.giveFile(counted)
        }
    }

    /// Blocks. Calls must not overlap. Throws `limitExceeded` if the client's files exceed the quota.
    func append(_ bytes: [UInt8]) throws(HTTPFailure) {
        guard quota.takeFile(bytes.count) else {
            throw HTTPFailure(
                .limitExceeded,
                "the kept bodies would exceed \(quota.limits.files) bytes; release some with response.release")
        }
        do throws(HTTPFailure) {
            try opened.withLock { $0 }?.file.write(bytes, path: path)
        } catch {
            // a part of the piece may be there, which does not count
            quota.giveFile(bytes.count)
            throw error
        }
        counted.withLock { $0 += bytes.count }
    }

    /// Bytes of the body in the file.
    var count: Int { counted.withLock { $0 } }

    /// The new owner deletes the file, and returns the quota.
    func handOver() { counted.withLock { $0 = -1 } }
}
