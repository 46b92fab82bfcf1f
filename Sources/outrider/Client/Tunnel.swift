// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Carries bytes between standard input, a socket and standard output, until both directions have ended.
enum Tunnel {
    private static let pieceBytes = 256 << 10

    /// - Parameter early: bytes that have come from the socket already.
    static func run(over socket: Int32, early: [UInt8]) throws(CommandFailure) {
        // a person at a terminal expects the end when the host ends; a program may still have something to say
        let isInteractive = isatty(STDIN_FILENO) == 1
        var thread = pthread_t()
        let context = UnsafeMutableRawPointer(bitPattern: Int(socket) &+ 1)
        let failed = pthread_create(
            &thread, nil,
            { context in
                // safe: the descriptor that was packed above, plus one
                Tunnel.send(to: Int32(truncatingIfNeeded: Int(bitPattern: context)) &- 1)
                return nil
            }, context)
        guard failed == 0 else {
            throw CommandFailure(.error, "cannot start a thread: \(systemError(failed))")
        }
        let fault = receive(from: socket, early: early)
        // the reader of standard output hears that no more will come
        close(STDOUT_FILENO)
        if let fault {
            // the reader is gone
            shutdown(socket, Int32(SHUT_RDWR))
            throw fault
        }
        if isInteractive { return }
        pthread_join(thread, nil)
    }

    /// Standard input to the socket, to its end.
    private static func send(to socket: Int32) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
        defer { buffer.deallocate() }
        while hasInput(before: socket), let count = fill(buffer, from: STDIN_FILENO), count > 0 {
            guard FileBytes.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: socket) else { return }
        }
        shutdown(socket, Int32(SHUT_WR))
    }

    /// Waits for standard input. False if the socket has ended in both directions before.
    private static func hasInput(before socket: Int32) -> Bool {
        let input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        var ready = [input, pollfd(fd: socket, events: 0, revents: 0)]
        while poll(&ready, 2, -1) < 0 { if errno != EINTR { return true } }
        return ready[1].revents == 0
    }

    /// The socket to standard output, to its end. Nil if everything was written.
    private static func receive(from socket: Int32, early: [UInt8]) -> CommandFailure? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceBytes, alignment: 16)
        defer { buffer.deallocate() }
        if !early.isEmpty, !early.withUnsafeBytes({ FileBytes.write($0, to: STDOUT_FILENO) }) { return lost() }
        while let count = fill(buffer, from: socket), count > 0 {
            guard FileBytes.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), to: STDOUT_FILENO) else {
                return lost()
            }
        }
        return nil
    }

    private static func lost() -> CommandFailure {
        CommandFailure(.error, errno == EPIPE ? nil : "cannot write to standard output: \(systemError(errno))")
    }

    /// Nil where reading failed.
    private static func fill(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32) -> Int? {
        while true {
            let count = read(file, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { return nil }
        }
    }
}
