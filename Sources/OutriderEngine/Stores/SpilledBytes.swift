// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderTransport

/// Bytes in a private file without a name: they are gone with the last reference, and with the process.
package final class SpilledBytes: BodyHolder, Sendable {
    package let count: Int
    private let file: OpenFile
    private let quota: BodyQuota

    /// Blocks. Throws `limitExceeded` if the client's files exceed the quota, and failures of the file system.
    init(_ bytes: [UInt8], in store: BodyStore) throws(HTTPFailure) {
        quota = store.quota
        guard quota.takeFile(bytes.count) else {
            throw HTTPFailure(
                .limitExceeded, "the client's files would exceed \(quota.limits.files) bytes; wait for its requests")
        }
        do throws(HTTPFailure) {
            let path = try store.workspace.newPath()
            file = OpenFile(try PosixFile(creating: path))
            unlink(path)
            try file.file.write(bytes, path: path)
        } catch {
            quota.giveFile(bytes.count)
            throw error
        }
        count = bytes.count
        quota.budget.countSpill(count)
    }

    deinit {
        // closing a file without a name frees its blocks, which takes long
        BlockingThreads.files.run(for: quota.client, isOwed: true) { [file, quota, count] in
            withExtendedLifetime(file) {}
            quota.giveFile(count)
        }
    }

    /// The path by which this process opens the file, as long as this object lives.
    package var path: String { "/proc/self/fd/\(file.file.number)" }

    /// Up to `count` bytes from the offset. Blocks.
    func read(at offset: Int, count: Int) throws(HTTPFailure) -> [UInt8] {
        try file.file.read(at: offset, count: min(count, max(0, self.count - offset)), path: "a private file")
    }

    /// The same on another thread; nil if the file cannot be read.
    package func read(at offset: Int, count: Int, _ done: @escaping @Sendable ([UInt8]?) -> Void) {
        BlockingThreads.files.run(for: quota.client, isOwed: true) { done(try? self.read(at: offset, count: count)) }
    }
}
