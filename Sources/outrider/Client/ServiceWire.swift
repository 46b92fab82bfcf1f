// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderServer

/// The bytes to and from a service, for a program that waits: blocking, line by line, without buffering.
struct ServiceWire: ~Copyable {
    /// The longest line that is taken from a service.
    static let lineLimit = 1 << 30

    private let input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []
    /// Bytes of the buffer that are known to hold no line feed.
    private var searched = 0
    /// Waiting for a line fails once no program reads standard output any more: for commands that only write what
    /// comes, and would notice no sooner than at the next event.
    var endsWithReader = false

    /// Takes over both descriptors; they may be the same.
    init(input: Int32, output: Int32) {
        self.input = input
        self.output = output
    }

    deinit {
        close(input)
        if output != input { close(output) }
    }

    /// The user of the service at the other end of the socket; nil if the kernel does not say.
    var peer: UInt32? { PeerCredentials(of: input)?.uid }

    /// Connects to a socket. Nil if nothing listens there. `ServicePath.connect` also checks who listens.
    ///
    /// - Parameter waits: for a service that is slow to accept; otherwise nil if too many clients wait already.
    static func connect(_ path: String, waits: Bool = true) throws(CommandFailure) -> ServiceWire? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(SocketPath.longest)) }
        do throws(SystemFailure) {
            return try withUnsafeBytes(of: &address) { (bytes) throws(SystemFailure) in
                try ServiceWire(connectedTo: bytes, waits: waits)
            }
        } catch {
            if [ENOENT, ECONNREFUSED].contains(error.code) || (error.code == EAGAIN && !waits) { return nil }
            throw CommandFailure(.noConnection, "cannot connect to \(path): \(systemError(error.code))")
        }
    }

    struct SystemFailure: Error {
        var code: Int32
    }

    /// Connects to the address of a Unix socket.
    init(connectedTo address: UnsafeRawBufferPointer, waits: Bool) throws(SystemFailure) {
        let patience = waits ? 0 : Int32(SOCK_NONBLOCK.rawValue)
        let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | patience, 0)
        guard file >= 0 else { throw SystemFailure(code: errno) }
        let size = socklen_t(truncatingIfNeeded: address.count)  // safe: a sockaddr_storage at most
        let start = address.bindMemory(to: sockaddr.self).baseAddress
        guard let start, Glibc.connect(file, start, size) == 0 else {
            let code = errno
            close(file)
            throw SystemFailure(code: code)
        }
        _ = fcntl(file, F_SETFL, 0)
        self.init(input: file, output: file)
    }

    /// Sends a message as a line.
    func send(_ message: [UInt8]) throws(CommandFailure) {
        let line = message + [UInt8(ascii: "\n")]
        let isSent = line.withUnsafeBytes { FileBytes.write($0, to: output) }
        if !isSent { throw Self.unread("the service ended the connection", errno) }
    }

    /// The next line, without its line feed. Throws `timedOut` at the deadline, `ended` at the end of input.
    mutating func receive(by deadline: Deadline) throws(CommandFailure) -> [UInt8] {
        while true {
            if let line = takeLine() { return line }
            try wait(by: deadline)
            try fill()
        }
    }

    /// The next line, or nil if the other file can be read first, or has ended. Throws `timedOut` at the deadline.
    ///
    /// - Parameter endsWithReader: fails if there is nothing to read, and no program reads standard output any more.
    mutating func receive(
        or file: Int32?, endsWithReader: Bool = false, by deadline: Deadline = .never
    ) throws(CommandFailure) -> [UInt8]? {
        while true {
            if let line = takeLine() { return line }
            var ready = [pollfd(fd: input, events: Int16(POLLIN), revents: 0)]
            if let file { ready.append(pollfd(fd: file, events: Int16(POLLIN), revents: 0)) }
            if endsWithReader { ready.append(Self.reader) }
            let count = poll(&ready, nfds_t(ready.count), deadline.milliseconds)
            if count == 0 { throw CommandFailure(.timedOut, "no reply within the time allowed") }
            if count < 0 {
                if errno == EINTR { continue }
                throw CommandFailure(.ended, "cannot wait for the service: \(systemError(errno))")
            }
            if endsWithReader { try Self.check(ready) }
            if ready[0].revents != 0 { try fill() } else { return nil }
        }
    }

    /// Standard output, whose reader may end; other changes do not count.
    private static var reader: pollfd { pollfd(fd: STDOUT_FILENO, events: 0, revents: 0) }

    /// Throws, without a sentence, if the reader has ended, the last of the files, and the others have nothing to read.
    private static func check(_ ready: [pollfd]) throws(CommandFailure) {
        // POLLERR or POLLHUP: nothing else was asked for
        guard let reader = ready.last, reader.revents != 0 else { return }
        if ready.dropLast().allSatisfy({ $0.revents == 0 }) { throw CommandFailure(.error, nil) }
    }

    /// Carries standard input and output from now on, until both directions have ended.
    mutating func carry() throws(CommandFailure) {
        let (file, early) = surrenderBytes()
        try Tunnel.run(over: file, early: early)
    }

    /// The descriptor that can be read when bytes came, and the bytes that came behind the last line.
    mutating func surrenderBytes() -> (file: Int32, early: [UInt8]) {
        defer { buffer = [] }
        searched = 0
        return (input, buffer)
    }

    private mutating func takeLine() -> [UInt8]? {
        guard let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = buffer.count
            return nil
        }
        let line = Array(buffer[..<end])
        buffer.removeFirst(end + 1)
        searched = 0
        return line
    }

    private func wait(by deadline: Deadline) throws(CommandFailure) {
        var ready = [pollfd(fd: input, events: Int16(POLLIN), revents: 0)]
        if endsWithReader { ready.append(Self.reader) }
        while true {
            let count = poll(&ready, nfds_t(ready.count), deadline.milliseconds)
            if count > 0 {
                if endsWithReader { try Self.check(ready) }
                return
            }
            if count == 0 { throw CommandFailure(.timedOut, "no reply within the time allowed") }
            if errno != EINTR { throw CommandFailure(.ended, "cannot wait for the service: \(systemError(errno))") }
        }
    }

    private mutating func fill() throws(CommandFailure) {
        guard buffer.count < Self.lineLimit else { throw CommandFailure(.brokeProtocol, "the reply never ends") }
        let room = max(65536, min(buffer.count, 1 << 22))
        let start = buffer.count
        var count = 0
        buffer.reserveCapacity(start + room)
        let piece = [UInt8](unsafeUninitializedCapacity: room) { bytes, used in
            count = read(input, bytes.baseAddress, room)
            used = max(0, count)
        }
        if count > 0 {
            buffer.append(contentsOf: piece)
        } else if count == 0 {
            throw CommandFailure(.ended, "the service ended the connection before it answered")
        } else if errno != EINTR {
            throw Self.unread("the connection to the service broke", errno)
        }
    }

    /// A Unix socket is reset if the other end was closed with bytes that it had not read, or before it was accepted. The
    /// last byte of a message was then not read.
    private static func unread(_ sentence: String, _ code: Int32) -> CommandFailure {
        var failure = CommandFailure(.ended, "\(sentence): \(systemError(code))")
        failure.isUnread = code == ECONNRESET || code == EPIPE
        return failure
    }
}

/// The end of a wait, or never.
struct Deadline {
    private let instant: ContinuousClock.Instant?

    static let never = Deadline(after: nil)

    init(after seconds: Double?) {
        instant = seconds.map { ContinuousClock.now.advanced(by: .seconds($0)) }
    }

    /// The earliest deadline.
    static func earliest(of deadlines: [Deadline]) -> Deadline {
        var earliest = Deadline.never
        for deadline in deadlines {
            guard let instant = deadline.instant else { continue }
            if earliest.instant.map({ instant < $0 }) ?? true { earliest = deadline }
        }
        return earliest
    }

    var isOver: Bool { milliseconds == 0 }

    /// The remaining time for `poll`: -1 for ever, 0 after the deadline.
    var milliseconds: Int32 {
        guard let instant else { return -1 }
        let left = ContinuousClock.now.duration(to: instant) / .milliseconds(1)
        return left <= 0 ? 0 : Int32(exactly: min(left.rounded(.up), 2_000_000_000)) ?? 0
    }
}
