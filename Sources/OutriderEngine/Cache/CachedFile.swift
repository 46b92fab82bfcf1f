// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// A stored body that is a file, read piece by piece on another thread.
// proof: everything runs on the loop but the reading, which gets values.
final class CachedFile: @unchecked Sendable {
    private let disk: DiskCache
    private let name: String
    private let size: Int
    private let loop: any EventLoop
    private var range: Range<Int>
    private var body: CacheFiles.OpenBody?
    /// The first piece, once the file is open.
    private var first: ByteBuffer?

    /// - Parameter range: the part that is wanted; nil for all.
    init(_ disk: DiskCache, _ name: String, size: Int, range: Range<Int>?, _ loop: any EventLoop) {
        self.disk = disk
        self.name = name
        self.size = size
        self.loop = loop
        self.range = range ?? 0..<size
    }

    private static let pieceBytes = 64 << 10

    /// Opens the file and reads the first piece; whether the file is there.
    func open(_ completion: @escaping @Sendable (Bool) -> Void) {
        next { result in
            guard case .success(let piece) = result else { return completion(false) }
            self.first = piece
            completion(true)
        }
    }

    /// The next piece; nil at the end.
    func next(_ completion: @escaping @Sendable (Result<ByteBuffer?, HTTPFailure>) -> Void) {
        if let piece = first {
            first = nil
            return loop.execute { completion(.success(piece)) }
        }
        guard !range.isEmpty else { return loop.execute { completion(.success(nil)) } }
        let piece = range.prefix(Self.pieceBytes)
        range = piece.endIndex..<range.upperBound
        disk.read(name, size: size, piece.startIndex..<piece.endIndex, from: body) { result in
            self.loop.execute {
                if case .success(let found) = result { self.body = found.body }
                completion(result.map { ByteBuffer(bytes: $0.bytes) })
            }
        }
    }
}
