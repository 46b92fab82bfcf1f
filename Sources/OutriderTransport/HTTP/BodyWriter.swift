// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import OutriderHTTP

/// Writes the body of a request that did not go out with its head: in pieces, a bounded number of bytes ahead of the
/// kernel, so that neither memory nor the event loop ever holds the whole.
// proof: every method runs on the connection's loop; other threads only carry the reference.
final class BodyWriter: @unchecked Sendable {
    static let pieceBytes = 128 << 10
    static let aheadBytes = 512 << 10

    enum Step {
        /// The kernel has taken so many more bytes, so many in all.
        case sent(Int, inAll: Int64)
        case finished
        case failed(HTTPFailure)
    }

    private enum Source {
        case memory(ByteBuffer)
        case file(path: String, FileReader?)
    }

    private let connection: HTTP1Connection
    private let files: NIOThreadPool
    private let size: Int64
    private var source: Source
    private var tell: ((Step) -> Void)?
    private var taken: Int64 = 0
    private var acknowledged: Int64 = 0
    private var isReading = false
    private var isFilling = false
    private var isHeld = false

    /// Nil if nothing of the body is left to be written.
    init?(_ body: AttemptBody, to connection: HTTP1Connection, files: NIOThreadPool) {
        switch body {
        case .none: return nil
        case .bytes(let bytes):
            guard bytes.count > RequestWriter.joinedBodyBytes else { return nil }
            source = .memory(ByteBuffer(bytes: bytes))
            size = Int64(bytes.count)
        case .file(let path, let size):
            source = .file(path: path, nil)
            self.size = size
        }
        self.connection = connection
        self.files = files
    }

    /// Whether a byte of a file has been taken for sending.
    var hasBegun: Bool {
        if case .file = source { taken > 0 } else { false }
    }

    func start(_ tell: @escaping (Step) -> Void) {
        self.tell = tell
        fill()
    }

    /// Nothing more is written until `release`; what is on its way arrives.
    func hold() { isHeld = true }

    func release() {
        isHeld = false
        if tell != nil { fill() }
    }

    /// Nothing more is written or told.
    func stop() {
        tell = nil
        source = .memory(ByteBuffer())
    }

    /// Sends until enough is on its way. A write may end before it returns and call this again: then the loop that runs
    /// already goes on. After some pieces others get their turn on the event loop.
    private func fill() {
        guard !isFilling, !isHeld else { return }
        isFilling = true
        defer { isFilling = false }
        var turn = 8
        while tell != nil, !isReading, !isHeld, taken < size,
            taken - acknowledged <= Int64(Self.aheadBytes - Self.pieceBytes)
        {
            guard turn > 0 else { return connection.channel.eventLoop.assumeIsolated().execute { self.fill() } }
            turn -= 1
            switch source {
            case .memory(var bytes):
                let piece = bytes.readSlice(length: min(Self.pieceBytes, bytes.readableBytes)) ?? ByteBuffer()
                source = .memory(bytes)
                send(piece)
            case .file(let path, let reader):
                read(path, reader)
            }
        }
        // an empty file
        if size == 0, !isReading { finish() }
    }

    private func read(_ path: String, _ reader: FileReader?) {
        isReading = true
        let (size, offset) = (size, taken)
        let piece = files.runIfActive(eventLoop: connection.channel.eventLoop) {
            let reader = try reader ?? FileReader(path: path, size: size)
            return (reader, try reader.read(at: offset, most: Self.pieceBytes))
        }
        piece.assumeIsolated().whenComplete { result in
            self.isReading = false
            guard self.tell != nil else { return }
            switch result {
            case .success((let reader, let piece)):
                self.source = .file(path: path, reader)
                self.send(piece)
                self.fill()
            case .failure(let error):
                self.fail(error as? HTTPFailure ?? .unreadable(path, FailureBridge.underlying(error)))
            }
        }
    }

    private func send(_ piece: ByteBuffer) {
        let count = piece.readableBytes
        taken &+= Int64(count)
        connection.send(piece).assumeIsolated().whenComplete { result in
            // if the write failed, the connection says why
            guard case .success = result, let tell = self.tell else { return }
            self.acknowledged &+= Int64(count)
            tell(.sent(count, inAll: self.acknowledged))
            if self.acknowledged >= self.size { self.finish() } else { self.fill() }
        }
    }

    private func finish() {
        let tell = tell
        stop()
        tell?(.finished)
    }

    private func fail(_ failure: HTTPFailure) {
        let tell = tell
        stop()
        tell?(.failed(failure))
    }
}
