// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// Tells whether the service runs, and describes its work.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Says whether the service of this user runs.",
        discussion: "Starts no service. Exit status: 0 the service runs; 3 no service runs.")

    @OptionGroup var place: ServicePlace

    func run() throws {
        let path = try place.path()
        guard let wire = try path.connect() else {
            throw CommandFailure(.noConnection, "no service answers at \(path.path)")
        }
        var client = ServiceClient(wire)
        let service = try RunningService(over: &client)
        let stats = try client.object("server.stats", [:], by: Deadline(after: 10))
        let requests = stats["requests"]?.object?["running"]?.integer ?? 0
        // leave out the connection of this command
        let clients = max(0, (stats["connections"]?.integer ?? 1) - 1)
        let lines = [
            "outrider \(service.version) runs as process \(service.pid) for \(service.duration)",
            "socket \(path.path)",
            "\(clients) \(clients == 1 ? "client" : "clients"), \(requests) \(requests == 1 ? "request" : "requests") under way",
        ]
        for line in lines { try StandardOutput.line(line.printable.utf8) }
        if let age = service.age { StandardError.line("outrider: \(age) (outrider restart)") }
    }
}

/// Ends the service gracefully.
struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stops the service of this user.",
        discussion: """
            Running calls have 5 s to end.

            Exit status: 0 none runs any more; 1 the service did not end; 3 another user runs the service.
            """)

    @OptionGroup var place: ServicePlace

    @Flag(name: .long, help: "Stop although new tokens could not be written to disk.")
    var force = false

    func run() throws {
        let path = try place.path()
        guard let ended = try ServiceEnding.stop(path, force: force) else {
            return try StandardOutput.line("no service runs at \(path.path)".utf8)
        }
        try StandardOutput.line("process \(ended) has ended".utf8)
    }
}

/// Ends the service, and starts a new service from this program file.
struct RestartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Stops the service of this user, and starts a new service.",
        discussion: "The new service reads the configuration file, and runs this program's file.")

    @OptionGroup var place: ServicePlace

    @Flag(name: .long, help: "Stop although new tokens could not be written to disk.")
    var force = false

    func run() throws {
        let path = try place.path()
        // check first: a fault in the file would leave no service
        _ = try ConfigFile.load(named: nil)
        _ = try ServiceEnding.stop(path, force: force)
        var client = ServiceClient(try Daemon(socket: path).connect())
        let service = try RunningService(over: &client)
        try StandardOutput.line("outrider \(service.version) runs as process \(service.pid)".utf8)
    }
}

/// The socket of the service that a command concerns.
struct ServicePlace: ParsableArguments {
    @Option(
        name: .long, help: "The socket of the service; else $OUTRIDER_SOCKET, else this user's place.",
        completion: .file())
    var socket: String?

    func path() throws(CommandFailure) -> ServicePath { try ServicePath(flag: socket) }
}

enum ServiceEnding {
    /// Seconds for running calls, and then again for the end of the process.
    private static let patience = 15.0

    /// Stops the service and waits for the end of its process.
    ///
    /// - Returns: the process; nil if no service ran.
    static func stop(_ path: ServicePath, force: Bool) throws(CommandFailure) -> Int32? {
        guard let wire = try path.connect() else { return nil }
        var client = ServiceClient(wire)
        let service = try RunningService(over: &client)
        _ = try client.object("server.stop", ["force": .bool(force)], by: Deadline(after: 10))
        let deadline = Deadline(after: patience)
        while isAlive(service.pid) {
            if deadline.milliseconds == 0 {
                throw CommandFailure(.error, "process \(service.pid) has not ended after \(Int(patience)) s")
            }
            usleep(10_000)
        }
        return service.pid
    }

    /// Whether the process runs. A process that is kept for its parent alone, state Z, has ended (proc_pid_stat(5)).
    private static func isAlive(_ process: Int32) -> Bool {
        guard kill(process, 0) == 0 || errno == EPERM else { return false }
        let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return true }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &bytes, bytes.count)
        // the name of the program is in parentheses, and may hold any character
        guard let name = bytes.prefix(max(0, count)).lastIndex(of: UInt8(ascii: ")")) else { return true }
        let fields = String(decoding: bytes[name...].prefix(max(0, count - name)), as: UTF8.self).split(separator: " ")
        guard fields.count > 18 else { return true }
        // the first thread ends before the others
        return fields[1] != "Z" || (Int(fields[18]) ?? 2) > 1
    }
}
