// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Sends what a feed gives, a bounded number of bytes ahead of the kernel, in the order in which it came.
// proof: every method runs on the connection's loop; other threads only carry the reference.
final class DuplexWriter: @unchecked Sendable {
    enum Step {
        /// The kernel has taken so many more bytes.
        case sent(Int)
        /// Everything up to the barrier is sent, and nothing behind it.
        case rested
        /// The feed has ended, and everything is sent.
        case finished
        case failed(HTTPFailure)
    }

    /// With so many bytes on their way to the kernel, no more are taken from the feed.
    private static let aheadBytes = 512 << 10

    private let feed: any BodyFeed
    private let connection: UpgradedConnection
    private var tell: ((Step) -> Void)?
    private var isAsking = false
    private var isFilling = false
    private var isHeld = false
    private var isAtEnd = false
    private var taken = 0
    /// Bytes of the feed that may be sent for now; nil for all.
    private var barrier: Int?
    /// What came behind the barrier.
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

    /// Nothing more is sent or told.
    func stop() {
        tell = nil
        kept = []
    }

    /// Sends the first so many bytes of the feed, and none of the others before `lift`. Tells `rested` when the kernel has
    /// them, perhaps before this returns.
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

    /// Asks until enough is on its way. A piece may come before this returns: then the loop that runs already goes on.
    private func fill() {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        var turn = 64
        while tell != nil, !isAsking, !isHeld, !isAtEnd, kept.isEmpty, connection.unsentBytes < Self.aheadBytes {
            // the loop has other work, too
            guard turn > 0 else { return connection.channel.eventLoop.assumeIsolated().execute { self.fill() } }
            turn -= 1
            isAsking = true
            let loop = connection.channel.eventLoop
            feed.next { step in
                if loop.inEventLoop { self.took(step) } else { loop.execute { self.took(step) } }
            }
        }
    }

    private func took(_ step: BodyFeedStep) {
        isAsking = false
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
            guard isSent, self.tell != nil else { return }
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
