// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Starts the service that all programs of this user share, once, however many ask at the same time.
///
///     lock ─▶ connect ──answers──▶ use it
///               └──nobody──▶ start, detached ──▶ wait until it listens ─▶ connect
///
/// A service that is slow is waited for, never ended: starting a second one would only make it slower.
struct Daemon {
    /// Seconds until somebody who waits for its start is told that it takes long.
    private static let patience = 60.0

    let socket: ServicePath

    private var log: String { socket.path + ".log" }

    /// A connection to the service, which is started if nobody answers.
    func connect() throws(CommandFailure) -> Wire {
        if let wire = try Wire.connect(socket.path) { return wire }
        try socket.prepareDirectory()
        let lock = try lock()
        defer { close(lock) }
        if let wire = try Wire.connect(socket.path) { return wire }
        try start()
        if let wire = try Wire.connect(socket.path) { return wire }
        throw CommandFailure(
            .noConnection, "the service was started, but does not answer at \(socket.path); see \(log)")
    }

    /// Waits for those who start it already.
    private func lock() throws(CommandFailure) -> Int32 {
        let path = socket.path + ".start"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw CommandFailure(.noConnection, "cannot open \(path): \(systemError(errno))") }
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

    private func start() throws(CommandFailure) {
        let ready = try PipeEnds()
        defer { close(ready.reading) }
        let log = open(self.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer {
            if log >= 0 { close(log) }
            if null >= 0 { close(null) }
        }
        guard log >= 0, null >= 0 else {
            close(ready.writing)
            throw CommandFailure(.noConnection, "cannot open \(self.log): \(systemError(errno))")
        }
        do throws(CommandFailure) {
            _ = try Child(
                ["serve", "--socket", socket.path, "--ready-file", "3"],
                [
                    .init(ours: null, theirs: 0), .init(ours: null, theirs: 1), .init(ours: log, theirs: 2),
                    .init(ours: ready.writing, theirs: 3),
                ],
                isDetached: true)
            close(ready.writing)
        } catch {
            close(ready.writing)
            throw error
        }
        try waitUntilItListens(ready.reading)
    }

    /// The service writes one byte when it listens; the end of the pipe without it means that it has failed.
    private func waitUntilItListens(_ file: Int32) throws(CommandFailure) {
        let deadline = Deadline(after: Self.patience)
        var end = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
        while poll(&end, 1, deadline.milliseconds) <= 0 {
            if deadline.milliseconds == 0 {
                throw CommandFailure(.timedOut, "the service takes long to start; try again, or see \(log)")
            }
        }
        var byte: UInt8 = 0
        if read(file, &byte, 1) == 1 { return }
        throw CommandFailure(.noConnection, "the service could not start; its reason is at the end of \(log)")
    }
}
