// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Sends the bytes of a feed in order, at most `aheadBytes` ahead of the kernel.
// proof: every method runs on the connection's loop; other threads only carry the reference.
final class DuplexWriter: @unchecked Sendable {
    enum Step {
        /// The kernel has taken this many more bytes.
        case sent(Int)
        /// All bytes before the barrier are sent, and none behind.
        case rested
        /// The feed has ended, and all bytes are sent.
        case finished
        case failed(HTTPFailure)
    }

    /// Limit of unsent bytes; above it, reading from the feed stops.
    private static let aheadBytes = 512 << 10

    private let feed: any BodyFeed
    private let connection: UpgradedConnection
    private var tell: ((Step) -> Void)?
    /// Whether the connection ended before it had taken all bytes.
    private(set) var hasLost = false
    private var isPulling = false
    private var isFilling = false
    private var isHeld = false
    private var isAtEnd = false
    private var taken = 0
    /// The number of bytes of the feed that may be sent for now; nil for all.
    private var barrier: Int?
    /// Bytes from behind the barrier.
    private var kept: [UInt8] = []

    init(_ feed: any BodyFeed, to connection: UpgradedConnection) {
        self.feed = feed
        self.connection = connection
    }

    func start(_ tell: @escaping (Step) -> Void) {
        guard feed.take() else {
            let text = "the stream was opened before: its bytes can be sent once"
            return tell(.failed(HTTPFailure(.inputStreamReadFailed, text, phase: .request)))
        }
        self.tell = tell
        fill()
    }

    func hold() { isHeld = true }

    func release() {
        isHeld = false
        fill()
    }

    /// Ends sending and reporting.
    func stop() {
        tell = nil
        kept = []
    }

    /// Sends the first `bytes` bytes of the feed, and holds the others until `lift`. Reports `rested` when the kernel
    /// has them, perhaps before this function returns.
    func stop(behind bytes: Int) {
        barrier = max(bytes, taken)
        fill()
        restIfDone()
    }

    func lift() {
        barrier = nil
        let bytes = kept
        kept = []
        if !bytes.isEmpty { send(bytes) }
        fill()
        finishIfDone()
    }

    /// Reads the feed up to `aheadBytes`. A piece may come before `feed.next` returns: then the outer call continues.
    private func fill() {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        var turn = 64
        while tell != nil, !isPulling, !isHeld, !isAtEnd, kept.isEmpty, connection.unsentBytes < Self.aheadBytes {
            // yields to other work on the loop
            guard turn > 0 else { return connection.channel.eventLoop.assumeIsolated().execute { self.fill() } }
            turn -= 1
            isPulling = true
            let loop = connection.channel.eventLoop
            feed.next { step in
                if loop.inEventLoop { self.took(step) } else { loop.execute { self.took(step) } }
            }
        }
    }

    private func took(_ step: BodyFeedStep) {
        isPulling = false
        guard tell != nil else { return }
        switch step {
        case .bytes(let bytes):
            if let barrier, taken >= barrier { kept = bytes } else { send(bytes) }
            fill()
        case .end:
            isAtEnd = true
            finishIfDone()
        case .failed(let failure):
            let tell = tell
            stop()
            tell?(.failed(failure))
        }
    }

    private func send(_ bytes: [UInt8]) {
        let count = bytes.count
        taken &+= count
        connection.write(ByteBuffer(bytes: bytes)) { isSent in
            // if the write failed, the connection says why
            guard isSent else { return self.hasLost = true }
            guard self.tell != nil else { return }
            self.tell?(.sent(count))
            self.fill()
            self.restIfDone()
            self.finishIfDone()
        }
    }

    private func restIfDone() {
        guard let barrier, taken >= barrier, connection.unsentBytes == 0 else { return }
        tell?(.rested)
    }

    private func finishIfDone() {
        guard isAtEnd, barrier == nil, kept.isEmpty, connection.unsentBytes == 0, let tell else { return }
        stop()
        tell(.finished)
    }
}
