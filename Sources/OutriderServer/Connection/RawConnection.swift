// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderRPC
import Synchronization

/// A hijacked connection: after the reply of the hijacking call, raw bytes pass both ways.
final class RawConnection: RawPipe {
    /// Limit of unread input in bytes; above it, reading from the client stops.
    private static let inputMost = 256 << 10

    /// Bytes of one buffer at most: larger blocks are mapped, and each page of them costs a fault.
    private static let pieceBytes = 128 << 10

    /// `ended`: the output is over, and reading goes on.
    private enum Phase { case hijacked, open, ended, finished, gone }

    private struct Contents {
        var phase = Phase.hijacked
        var input: [ByteBuffer] = []
        var inputBytes = 0
        var hasEnded = false
        var isIgnored = false
        var isPaused = false
        var reader: CheckedContinuation<Void, Never>?
        var moved: (@Sendable () -> Void)?
        /// Bytes on their way to the loop.
        var onTheWay = 0
    }

    private let loop: any EventLoop
    private let wire: any Wire
    private let tally: Counters
    private let contents = Mutex(Contents())

    init(_ wire: any Wire, loop: any EventLoop, tally: Counters) {
        self.wire = wire
        self.loop = loop
        self.tally = tally
    }

    // MARK: output

    func write(_ buffers: [UnsafeRawBufferPointer]) -> Bool {
        var taken = 0
        if loop.inEventLoop, contents.withLock({ $0.phase == .open && $0.onTheWay == 0 }) {
            taken = wire.giveToKernel(buffers)
            tally.bytesSent.count(taken)
        }
        let count = buffers.reduce(0) { $0 + $1.count }
        if taken > 0, taken == count { return true }
        return write(Self.pieces(of: buffers, after: taken), count - taken)
    }

    /// Copies the bytes behind the first `skipped`.
    private static func pieces(of buffers: [UnsafeRawBufferPointer], after skipped: Int) -> [ByteBuffer] {
        var skipped = skipped
        var pieces: [ByteBuffer] = []
        for buffer in buffers {
            var start = min(skipped, buffer.count)
            skipped -= start
            while start < buffer.count {
                let room = pieceBytes - (pieces.last?.readableBytes ?? pieceBytes)
                let end = min(buffer.count, start + (room > 0 ? room : pieceBytes))
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[start..<end])
                if room > 0 {
                    pieces[pieces.count - 1].writeBytes(bytes)
                } else {
                    pieces.append(ByteBuffer(bytes: bytes))
                }
                start = end
            }
        }
        return pieces
    }

    func write(_ bytes: some RawBytes) -> Bool {
        let buffer = bytes.storage as? ByteBuffer ?? bytes.withUnsafeBytes { ByteBuffer(bytes: $0) }
        return write([buffer], buffer.readableBytes)
    }

    private func write(_ buffers: [ByteBuffer], _ count: Int) -> Bool {
        let isInLoop = loop.inEventLoop
        let isOpen = contents.withLock { contents in
            guard contents.phase == .open else { return false }
            if !isInLoop { contents.onTheWay += count }
            return true
        }
        guard isOpen else { return false }
        tally.bytesSent.count(count)
        if isInLoop {
            send(buffers)
        } else {
            loop.execute {
                self.send(buffers)
                self.contents.withLock { $0.onTheWay -= count }
                self.moved()
            }
        }
        return true
    }

    private func send(_ buffers: [ByteBuffer]) {
        for buffer in buffers { wire.write(buffer) }
        wire.flush()
    }

    var hasRoom: Bool { contents.withLock { $0.onTheWay == 0 } && wire.isWritable }

    var isGone: Bool { contents.withLock { $0.phase == .gone } }

    func whenMoved(_ tell: @escaping @Sendable () -> Void) {
        contents.withLock { $0.moved = tell }
        tell()
    }

    /// Reports that there may be room again. On the loop.
    func moved() { contents.withLock { $0.moved }?() }

    func endOutput() {
        let isFirst = contents.withLock { contents in
            guard contents.phase == .open else { return false }
            contents.phase = .ended
            return true
        }
        if isFirst { onLoop { self.wire.endOutput() } }
    }

    func finish() {
        let isFirst = contents.withLock { contents in
            guard contents.phase == .open || contents.phase == .ended else { return false }
            contents.phase = .finished
            return true
        }
        if isFirst { onLoop { self.wire.finish() } }
    }

    func abort() { onLoop { self.wire.abort() } }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.inEventLoop { work() } else { loop.execute(work) }
    }

    // MARK: input

    func read() async -> RawInput {
        while true {
            let (input, resumes): (RawInput?, Bool) = contents.withLock { contents in
                if contents.input.isEmpty {
                    if contents.hasEnded { return (.end, false) }
                    return (contents.phase == .gone || Task.isCancelled ? .gone : nil, false)
                }
                let buffer = contents.input.removeFirst()
                contents.inputBytes -= buffer.readableBytes
                let resumes = contents.isPaused && contents.inputBytes <= Self.inputMost / 2
                if resumes { contents.isPaused = false }
                return (.bytes(Array(buffer.readableBytesView)), resumes)
            }
            if resumes { onLoop { self.wire.setReading(true) } }
            if let input { return input }
            await arrival()
        }
    }

    private func arrival() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = contents.withLock { contents in
                    guard contents.input.isEmpty, !contents.hasEnded, contents.phase != .gone, !Task.isCancelled
                    else { return false }
                    contents.reader = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            contents.withLock { $0.reader.take() }?.resume()
        }
    }

    func ignoreInput() {
        let resumes = contents.withLock { contents in
            contents.isIgnored = true
            contents.input = []
            contents.inputBytes = 0
            defer { contents.isPaused = false }
            return contents.isPaused
        }
        if resumes { onLoop { self.wire.setReading(true) } }
    }

    // MARK: events from the connection, on the loop

    /// The reply is on its way: from here on the connection carries raw bytes.
    func open() {
        wire.expectMuch()
        contents.withLock { contents in
            if contents.phase == .hijacked { contents.phase = .open }
        }
    }

    func received(_ buffer: ByteBuffer) {
        let (reader, pauses) = contents.withLock { contents -> (CheckedContinuation<Void, Never>?, Bool) in
            if contents.isIgnored || buffer.readableBytes == 0 { return (nil, false) }
            contents.input.append(buffer)
            contents.inputBytes += buffer.readableBytes
            let pauses = contents.inputBytes >= Self.inputMost && !contents.isPaused
            if pauses { contents.isPaused = true }
            return (contents.reader.take(), pauses)
        }
        if pauses { wire.setReading(false) }
        reader?.resume()
    }

    /// The client sends no more: either a half-close or a lost connection, which the kernel may report a moment later.
    /// So the end counts only after the selector has run again without reporting a lost connection.
    func inputEnded() {
        loop.scheduleTask(in: .milliseconds(5)) {
            self.loop.scheduleTask(in: .milliseconds(5)) {
                self.contents.withLock { contents in
                    contents.hasEnded = contents.phase != .gone
                    return contents.reader.take()
                }?.resume()
            }
        }
    }

    /// The client is gone, or the connection carries messages again.
    func gone() {
        let (reader, moved) = contents.withLock { contents in
            // after our own end of output, the end of the client's input closes the channel
            if contents.phase == .ended { contents.hasEnded = true }
            contents.phase = .gone
            defer { contents.moved = nil }
            return (contents.reader.take(), contents.moved)
        }
        reader?.resume()
        moved?()
    }
}
