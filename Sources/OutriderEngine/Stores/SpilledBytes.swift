// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

/// Bytes in a private file without a name: they are gone with the last reference, and with the process.
package final class SpilledBytes: SpilledPart, Sendable {
    package let count: Int
    /// Shared with other payloads of the client.
    private let file: OpenFile
    private let start: Int
    private let quota: BodyQuota

    private static let path = "a private file"

    /// Blocks. Throws `limitExceeded` if the client's files exceed the quota, and failures of the file system.
    init(_ bytes: [UInt8], in store: BodyStore) throws(HTTPFailure) {
        quota = store.quota
        guard quota.takeFile(bytes.count) else {
            throw HTTPFailure(
                .limitExceeded, "the client's files would exceed \(quota.limits.files) bytes; wait for its requests")
        }
        do throws(HTTPFailure) {
            (file, start) = try quota.spills.place(bytes.count, in: store.workspace)
        } catch {
            quota.giveFile(bytes.count)
            throw error
        }
        count = bytes.count
        // from here on `deinit` gives the room back
        try file.file.write(bytes, at: start, path: Self.path)
        quota.budget.countSpill(count)
    }

    deinit {
        // freeing blocks takes long, and so does closing a file without a name
        BlockingThreads.files.run(for: quota.client, isOwed: true) { [file, start, quota, count] in
            file.file.free(at: start, count: count)
            quota.giveFile(count)
        }
    }

    /// Fills the buffer from the offset. Blocks.
    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(HTTPFailure) {
        guard offset >= 0, buffer.count <= count - offset else {
            throw HTTPFailure(.bodyUnreadable, "\(Self.path) ends before byte \(offset) and \(buffer.count) more")
        }
        try file.file.read(at: start + offset, into: buffer, path: Self.path)
    }

    /// Up to `count` bytes from the offset. Blocks.
    func read(at offset: Int, count: Int) throws(HTTPFailure) -> [UInt8] {
        let count = min(count, max(0, self.count - offset))
        return try file.file.read(at: start + offset, count: count, path: Self.path)
    }

    /// The same on another thread; nil if the file cannot be read.
    package func read(at offset: Int, count: Int, _ done: @escaping @Sendable ([UInt8]?) -> Void) {
        BlockingThreads.files.run(for: quota.client, isOwed: true) { done(try? self.read(at: offset, count: count)) }
    }
}
