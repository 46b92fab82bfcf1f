// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP
import OutriderTransport
import Synchronization

/// A response's body for later reading: in memory or in a private file. Released with the last reference.
package final class KeptBody: Sendable {
    private enum Storage: Sendable {
        case memory([UInt8])
        case file(String)
        /// In a place that the client chose, and owned by the client.
        case arrived(String)
    }

    /// Nil once released.
    private let storage: Mutex<Storage?>
    private let quota: BodyQuota
    package let size: Int
    package let contentType: String?
    /// Whether the body was to be in a result, and is kept because memory was short.
    package let isSpilt: Bool

    /// For bytes that the quota has already counted.
    init(memory bytes: [UInt8], quota: BodyQuota, contentType: String?, isSpilt: Bool = false) {
        self.isSpilt = isSpilt
        storage = Mutex(.memory(bytes))
        self.quota = quota
        size = bytes.count
        self.contentType = contentType
    }

    init(file path: String, size: Int, quota: BodyQuota, contentType: String?, isSpilt: Bool = false) {
        self.isSpilt = isSpilt
        storage = Mutex(.file(path))
        self.quota = quota
        self.size = size
        self.contentType = contentType
    }

    init(arrivedAt path: String, size: Int, quota: BodyQuota, contentType: String?) {
        isSpilt = false
        storage = Mutex(.arrived(path))
        self.quota = quota
        self.size = size
        self.contentType = contentType
    }

    deinit { release() }

    /// Releases memory or file; later reads fail. Repeated calls have no effect.
    ///
    /// Another thread removes the file, since removing a large file takes long.
    package func release() { release {} }

    /// The same, and waits until the file is removed.
    package func released() async {
        await withUnsafeContinuation { continuation in release { continuation.resume() } }
    }

    private func release(_ done: @escaping @Sendable () -> Void) {
        let storage = storage.withLock { storage in
            defer { storage = nil }
            return storage
        }
        switch storage {
        case nil, .arrived: done()
        case .memory:
            quota.giveMemory(size)
            done()
        case .file(let path):
            BlockingThreads.files.run(for: quota.client, isOwed: true) { [quota, size] in
                unlink(path)
                quota.giveFile(size)
                done()
            }
        }
    }

    package var isReleased: Bool { storage.withLock { $0 == nil } }

    /// The path of the file; nil for a body in memory.
    package var path: String? {
        switch storage.withLock({ $0 }) {
        case .file(let path), .arrived(let path): path
        case .memory, nil: nil
        }
    }

    /// Up to `count` bytes from the offset; none past the end.
    package func read(at offset: Int, count: Int) async throws(HTTPFailure) -> [UInt8] {
        let start = min(max(0, offset), size)
        let count = min(max(0, count), size - start)
        switch storage.withLock({ $0 }) {
        case nil: throw Self.released
        case .memory(let bytes):
            // a copy of megabytes takes milliseconds
            if count == bytes.count { return bytes }
            let piece = bytes[start..<start + count]
            return count <= MemoryBudget.counted ? Array(piece) : await background { Array(piece) }
        case .file(let path), .arrived(let path):
            return try await offLoop(for: quota.client) { () throws(HTTPFailure) in
                try Self.piece(of: path, at: start, count: count)
            }
        }
    }

    /// How long a body waits for room in memory, in seconds.
    private static let patience = 10.0

    /// The bytes of a spilt body, with the memory for a result; nil if no room was found, or the body cannot be read.
    package func readBack() async -> (bytes: [UInt8], charge: MemoryCharge)? {
        guard isSpilt, let charge = await quota.room(size * MemoryBudget.inlineWeight, seconds: Self.patience) else {
            return nil
        }
        guard let bytes = try? await read(at: 0, count: size), bytes.count == size else { return nil }
        return (bytes, charge)
    }

    private static let released = HTTPFailure(.bodyUnreadable, "the kept body has been released")

    /// Writes the body atomically to a file that only its owner can read. Throws `destinationExists` unless `replace`
    /// is set, `destinationUnsafe` for anything but a regular file, `fileWriteFailed` otherwise; all point at `/path`.
    /// Throws `inputFileReadFailed`, which points at `/response`, if the body is not whole any more.
    package func save(to path: String, replace: Bool) async throws(HTTPFailure) {
        guard let storage = storage.withLock({ $0 }) else { throw Self.released }
        let size = size
        do {
            try await offLoop(for: quota.client) { () throws(HTTPFailure) in
                var source = Source(storage: storage, size: size)
                try AtomicFile.write(to: path, replace: replace) { () throws(HTTPFailure) in try source.next() }
            }
        } catch {
            var failure = error
            failure.pointer = error.kind == .inputFileReadFailed ? "/response" : "/path"
            throw failure
        }
    }

    /// Reads the body piece by piece, for copying.
    private struct Source {
        let storage: Storage
        let size: Int
        var offset = 0

        mutating func next() throws(HTTPFailure) -> [UInt8]? {
            guard offset < size else { return nil }
            let piece: [UInt8]
            switch storage {
            case .memory(let bytes): piece = bytes
            case .file(let path), .arrived(let path):
                piece = try KeptBody.piece(of: path, at: offset, count: min(1 << 20, size - offset))
            }
            offset += piece.count
            return piece
        }
    }

    /// Bytes of the file. Throws `inputFileReadFailed` if the file has become shorter: a path that the client chose is
    /// open to other programs.
    private static func piece(of path: String, at offset: Int, count: Int) throws(HTTPFailure) -> [UInt8] {
        let bytes = try PosixFile(reading: path).read(at: offset, count: count, path: path)
        guard bytes.count == count else {
            throw HTTPFailure(
                .inputFileReadFailed,
                "\(HTTPFailure.excerpt(path)) has become shorter since it got the body (send the request again)",
                sent: .sent, details: [.path(path)])
        }
        return bytes
    }
}
