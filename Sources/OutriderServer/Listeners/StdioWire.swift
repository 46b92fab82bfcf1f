// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import Synchronization

/// A client on stdin and stdout: a thread reads, a second writes, a third watches whether the reader of stdout is still
/// there. The calls block, because the event loop cannot poll files, /dev/null and terminals, and because O_NONBLOCK
/// would also change the descriptors of the parent process.
final class StdioWire: Wire {
    private enum Job {
        case bytes(ByteBuffer)
        case finish
    }

    private struct Output {
        var jobs: [Job] = []
        var bytes = 0
        var closed = false
    }

    private struct Gate {
        /// Chunks that were read but not handled yet.
        var outstanding = 0
        var open = true
        var closed = false
    }

    private static let outputMost = 256 << 10
    private static let chunk = 64 << 10

    let isSocket: Bool
    private let input: Int32
    private let output: Int32
    private let loop: any EventLoop
    private let queue = ConditionVariable(Output())
    private let gate = ConditionVariable(Gate())
    private let wasFull = Atomic<Bool>(false)
    private let connection = Mutex<Connection?>(nil)

    init(input: Int32, output: Int32, loop: any EventLoop) {
        self.input = input
        self.output = output
        self.loop = loop
        isSocket = StandardDescriptors.isSocket(input) && StandardDescriptors.isSocket(output)
    }

    /// On the loop; the threads keep the wire until they end. Throws if one of them cannot be started.
    func start(_ connection: Connection, _ feed: FrameFeed) throws(StartFailure) {
        self.connection.withLock { $0 = connection }
        let feed = NIOLoopBound(feed, eventLoop: loop)
        guard BlockingThread.start({ self.write() }), BlockingThread.start({ self.watch() }),
            BlockingThread.start({ self.read(feed) })
        else { throw ThreadRoom.failure }
    }

    // MARK: Wire

    var isWritable: Bool {
        let full = queue.change { $0.bytes >= Self.outputMost && !$0.closed }
        if full { wasFull.store(true, ordering: .sequentiallyConsistent) }
        // Checked again, because the writer may have emptied the queue before `wasFull` was set.
        return !full || queue.change { $0.bytes < Self.outputMost }
    }

    var unwritten: Int { queue.change { $0.bytes } }

    func write(_ buffer: ByteBuffer) {
        queue.change { queue in
            guard !queue.closed else { return }
            queue.jobs.append(.bytes(buffer))
            queue.bytes += buffer.readableBytes
        }
    }

    func giveToKernel(_ buffers: [UnsafeRawBufferPointer]) -> Int { 0 }

    func flush() {}

    /// A pipe keeps its size.
    func expectMuch() {}

    func setReading(_ on: Bool) { gate.change { $0.open = on } }

    /// Standard output carries messages only, and ends with the process.
    func endOutput() {}

    func finish() { queue.change { $0.jobs.append(.finish) } }

    func abort() {
        gate.change { $0.closed = true }
        queue.change { queue in
            queue.closed = true
            queue.jobs = [.finish]
            queue.bytes = 0
        }
    }

    private func end() {
        abort()
        loop.execute {
            let connection = self.connection.withLock { $0.take() }
            connection?.gone()
        }
    }

    // MARK: threads

    private func read(_ feed: NIOLoopBound<FrameFeed>) {
        while true {
            let goesOn = gate.wait { gate -> Bool? in
                if gate.closed { return false }
                guard gate.open, gate.outstanding < 4 else { return nil }
                gate.outstanding += 1
                return true
            }
            guard goesOn else { return }
            guard let buffer = readChunk() else { break }
            loop.execute {
                self.gate.change { $0.outstanding -= 1 }
                let connection = self.connection.withLock { $0 }
                connection?.expectFlush()
                feed.value.received(buffer)
                connection?.flush()
            }
        }
        loop.execute { feed.value.inputEnded() }
    }

    /// Nil at the end of the input, and on errors.
    private func readChunk() -> ByteBuffer? {
        var buffer = ByteBufferAllocator().buffer(capacity: chunkSize)
        while true {
            var count = 0
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: chunkSize) { space in
                count = Glibc.read(input, space.baseAddress, space.count)
                return max(0, count)
            }
            if count > 0 {
                grow(count)
                return buffer
            }
            if count == 0 { return nil }
            let number = errno
            guard isTemporary() else {
                report("standard input cannot be read", number)
                return nil
            }
        }
    }

    /// Logs an error, which also counts as the end of the service. The departure of the client is none.
    private func report(_ what: String, _ number: Int32) {
        if [EPIPE, ECONNRESET, ENOTCONN, EIO].contains(number) { return }
        guard let connection = self.connection.withLock({ $0 }) else { return }
        connection.exitStatus.store(1, ordering: .relaxed)
        connection.service.logger.error("\(what): \(errnoText(number))")
    }

    /// Grows from 4 KiB to 64 KiB for clients that send much.
    private let size = Atomic<Int>(4096)
    private var chunkSize: Int { size.load(ordering: .relaxed) }
    private func grow(_ count: Int) {
        if count >= chunkSize, chunkSize < Self.chunk { size.store(chunkSize * 4, ordering: .relaxed) }
    }

    private func isTemporary() -> Bool {
        if errno == EINTR { return true }
        guard errno == EAGAIN else { return false }
        var wanted = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        poll(&wanted, 1, 60_000)
        return true
    }

    private func write() {
        while true {
            let jobs = queue.wait { queue -> [Job]? in
                guard !queue.jobs.isEmpty else { return nil }
                defer { queue.jobs = [] }
                return queue.jobs
            }
            for job in jobs {
                guard case .bytes(let buffer) = job, writeAll(buffer) else { return end() }
                if wasFull.exchange(false, ordering: .sequentiallyConsistent) {
                    loop.execute { self.connection.withLock { $0 }?.flush() }
                }
            }
        }
    }

    private func writeAll(_ buffer: ByteBuffer) -> Bool {
        buffer.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                // a pipe blocks until all bytes are written: pieces show whether the client reads at all
                let piece = min(bytes.count - start, Self.outputMost)
                let count = Glibc.write(output, bytes.baseAddress.map { $0 + start }, piece)
                if count > 0 {
                    start += count
                    queue.change { $0.bytes = max(0, $0.bytes - count) }
                } else if errno == EAGAIN {
                    var wanted = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
                    poll(&wanted, 1, 60_000)
                } else if errno != EINTR {
                    report("replies are lost, because standard output cannot be written to", errno)
                    return false
                }
            }
            return true
        }
    }

    /// Detects that the reader is gone without a write: poll reports an error for a pipe, a hang-up for a socket or
    /// terminal.
    private func watch() {
        while !queue.change({ $0.closed }) {
            var wanted = pollfd(fd: output, events: 0, revents: 0)
            if poll(&wanted, 1, 60_000) > 0, wanted.revents != 0 { return end() }
        }
    }
}
