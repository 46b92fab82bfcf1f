// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderServer

/// Starts the service that all programs of this user share, once, however many ask at the same time.
///
///     lock ─▶ connect ──answers──▶ use it
///               └─refused──▶ start, detached ──▶ wait until it listens ─▶ connect
///                              └─another one has the path──▶ connect, or start again
///
/// A service that is slow is waited for, never ended: starting a second one would only make it slower.
struct Daemon {
    /// The longest wait for the start in seconds; then the command fails.
    private static let patience = 60.0
    /// Between looks at the path while another service has it, in microseconds.
    private static let pause: UInt32 = 100_000

    let socket: ServicePath

    private var log: String { Self.log(beside: socket.path) }

    static func log(beside socket: String) -> String { socket + ".log" }

    /// A connection to the service, which is started if no service listens.
    func connect(spawns: Bool = true) throws(CommandFailure) -> ServiceWire {
        if let wire = try socket.connect() { return wire }
        if !spawns { throw CommandFailure(.noConnection, "no service answers at \(socket.path)") }
        guard socket.peer == geteuid() else {
            throw CommandFailure(.noConnection, "no service of user \(socket.peer) answers at \(socket.path)")
        }
        // before a file is made beside it
        if socket.isOfAnotherKind {
            throw CommandFailure(
                .noConnection,
                "\(socket.path) exists and is no socket; remove it, or choose another path with --socket")
        }
        try socket.prepareDirectory()
        let lock = try lock()
        defer { close(lock) }
        if let wire = try socket.connect() { return wire }
        let deadline = Deadline(after: Self.patience)
        while true {
            let refusal = try start()
            if let wire = try socket.connect() { return wire }
            guard let refusal else {
                throw CommandFailure(
                    .noConnection, "the service was started, but does not answer at \(socket.path); see \(log)")
            }
            // the other one puts its socket back just now, or ends; each start until then would log its refusal
            repeat {
                if deadline.milliseconds == 0 { throw refusal }
                usleep(Self.pause)
                if let wire = try socket.connect() { return wire }
            } while socket.isLocked
        }
    }

    /// Waits for commands that already start the service.
    private func lock() throws(CommandFailure) -> Int32 {
        let path = socket.path + ".start"
        let file = try Self.open(path, O_RDWR | O_CREAT)
        let deadline = Deadline(after: Self.patience)
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            if deadline.milliseconds == 0 {
                close(file)
                throw CommandFailure(.timedOut, "another program has been starting the service for long; see \(log)")
            }
            usleep(10_000)
        }
        return file
    }

    /// Opens a file beside the socket. Waits for nothing, and refuses a file that another user has put there.
    private static func open(_ path: String, _ flags: Int32) throws(CommandFailure) -> Int32 {
        do throws(FileFault) {
            return try CheckedFile.open(path, flags, .own)
        } catch {
            throw CommandFailure(
                .noConnection, "cannot use \(path): \(error) (\(error.removal)choose another path with --socket)")
        }
    }

    /// Returns the failure if another service has the path, and nil when the new service listens.
    private func start() throws(CommandFailure) -> CommandFailure? {
        let log = try Self.open(self.log, O_WRONLY | O_CREAT | O_APPEND)
        defer { close(log) }
        let end = lseek(log, 0, SEEK_END)
        let null = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { throw CommandFailure(.noConnection, "cannot open /dev/null: \(systemError(errno))") }
        defer { close(null) }
        let ready = try PipeEnds()
        defer { close(ready.reading) }
        let child: Child
        do throws(CommandFailure) {
            child = try Child(
                ["serve", "--socket", socket.path, "--ready-file", "3"],
                [
                    .init(ours: null, theirs: 0), .init(ours: null, theirs: 1), .init(ours: log, theirs: 2),
                    .init(ours: ready.writing, theirs: 3),
                ],
                isDetached: true, environment: ServiceEnvironment.reduced)
            close(ready.writing)
        } catch {
            close(ready.writing)
            throw error
        }
        guard let failure = try failureUntilItListens(ready.reading, logFrom: end) else { return nil }
        guard child.wait() == StartFailure.alreadyRunning else { throw failure }
        return failure
    }

    /// The service writes a byte when listening; the end of the pipe without a byte means a failed start.
    private func failureUntilItListens(_ file: Int32, logFrom start: off_t) throws(CommandFailure) -> CommandFailure? {
        let deadline = Deadline(after: Self.patience)
        var end = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        while poll(&end, 1, deadline.milliseconds) <= 0 {
            if deadline.milliseconds == 0 {
                throw CommandFailure(.timedOut, "the service takes long to start; try again, or see \(log)")
            }
        }
        var byte: UInt8 = 0
        if read(file, &byte, 1) == 1 { return nil }
        let reason = Self.reason(in: log, from: start).map { ": \($0)" } ?? ""
        return CommandFailure(.noConnection, "the service could not start\(reason) (see \(log))")
    }

    /// What the service wrote before its end: the last line that is marked as an error, else the last line; nil if
    /// there is none.
    private static func reason(in log: String, from start: off_t) -> String? {
        guard let file = try? CheckedFile.open(log, O_RDONLY, .own) else { return nil }
        defer { close(file) }
        let end = lseek(file, 0, SEEK_END)
        // a log that is shorter than before has begun anew
        lseek(file, max(start <= end ? start : 0, end - 4096), SEEK_SET)
        guard let bytes = try? FileBytes.read(file) else { return nil }
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        for line in lines.reversed() {
            // advice and usage follow the error of a flag
            for mark in ["outrider: ", "Error: "] where line.hasPrefix(mark) {
                return String(line.dropFirst(mark.count))
            }
        }
        return lines.last
    }
}
