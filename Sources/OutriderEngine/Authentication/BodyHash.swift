// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The hash of a body before the request, for servers that require a proof of the body (RFC 7616 section 3.4.3,
/// `auth-int`).
enum BodyHash {
    private static let pieceBytes = 256 << 10

    /// Nil for a body whose bytes are unknown beforehand: a client's stream, or a body that is compressed while being
    /// sent.
    static func of(
        _ body: AttemptBody, _ algorithm: DigestAlgorithm, for client: ClientKey
    ) async throws(HTTPFailure) -> String? {
        switch body {
        case .none: return algorithm.hash("")
        case .bytes(let bytes): return try await hash([.bytes(bytes)], algorithm, client)
        case .file(let path, let size):
            return try await hash([.file(path: path, size: size, pointer: nil)], algorithm, client)
        case .composed(let body):
            guard body.coding == nil, body.feeds.isEmpty else { return nil }
            return try await hash(body.pieces, algorithm, client)
        }
    }

    private static func hash(
        _ pieces: [ComposedBody.Piece], _ algorithm: DigestAlgorithm, _ client: ClientKey
    ) async throws(HTTPFailure) -> String {
        try await offLoop(for: client) { () throws(HTTPFailure) in
            var hash = DigestHash(algorithm)
            for piece in pieces {
                switch piece {
                case .bytes(let bytes): hash.update(bytes)
                case .file(let path, let size, _): try add(path, size, to: &hash)
                case .spilt(let part): try add(part, to: &hash)
                case .feed: break
                }
            }
            return hash.finish()
        }
    }

    private static func add(_ part: any SpilledPart, to hash: inout DigestHash) throws(HTTPFailure) {
        try add(Int64(part.count), to: &hash) { (offset, count) throws(HTTPFailure) in
            var bytes = [UInt8](repeating: 0, count: count)
            var result = Result<Void, HTTPFailure>.success(())
            bytes.withUnsafeMutableBytes { buffer in
                result = Result { () throws(HTTPFailure) in try part.read(at: offset, into: buffer) }
            }
            try result.get()
            return bytes
        }
    }

    private static func add(_ path: String, _ size: Int64, to hash: inout DigestHash) throws(HTTPFailure) {
        let file = try PosixFile(reading: path)
        try add(size, to: &hash) { (offset, count) throws(HTTPFailure) in
            try file.read(at: offset, count: count, path: path)
        }
    }

    /// Adds so many bytes, read piece by piece; fewer if the file has become shorter, which the request will report.
    private static func add(
        _ size: Int64, to hash: inout DigestHash, read: (_ offset: Int, _ count: Int) throws(HTTPFailure) -> [UInt8]
    ) throws(HTTPFailure) {
        var offset = 0
        while Int64(offset) < size {
            if Task.isCancelled { throw HTTPFailure(.explicitlyCancelled, "the request was cancelled") }
            let bytes = try read(offset, Int(clamping: min(Int64(pieceBytes), size - Int64(offset))))
            if bytes.isEmpty { return }
            hash.update(bytes)
            offset += bytes.count
        }
    }
}
