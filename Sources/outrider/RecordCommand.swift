// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON
import OutriderServer
import Synchronization

/// Runs a program, and records its requests.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Runs a program, and records its requests to a cassette.",
        discussion: """
              outrider record tests/api.har -- python3 tests/api.py
              outrider replay tests/api.har -- python3 tests/api.py

            The program gets a service of its own by $OUTRIDER_SOCKET. Each request is in the cassette, an HTTP Archive, as \
            soon as its response has ended, and secrets are masked before.

            Exit status: that of the program; 1 if the recording failed; 3 if the service did not start.
            """)

    @Argument(help: "The cassette.", completion: .file())
    var file: String

    @Option(name: .long, help: "all records everything again, newEpisodes plays existing entries and records the rest.")
    var mode = StagedProgram.RecordMode.all

    @Argument(parsing: .postTerminator, help: "The program and its arguments, behind --.")
    var command: [String]

    func validate() throws {
        if command.isEmpty { throw ValidationError("give the program behind --: outrider record FILE -- COMMAND") }
    }

    func run() throws {
        try StagedProgram(file: file, mode: mode.rawValue, command: command).run()
    }
}

/// Runs a program whose requests get recorded responses.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Runs a program whose requests get the responses of a cassette.",
        discussion: """
              outrider replay tests/api.har -- python3 tests/api.py

            The program gets a service of its own by $OUTRIDER_SOCKET, and services that it starts get the cassette by \
            $OUTRIDER_REPLAY. None of its requests reaches the network; a request without an entry fails \
            with 2200.

            Exit status: that of the program; 3 if the cassette cannot be used, or the service did not start.
            """)

    @Argument(help: "The cassette: of `outrider record`, or an HTTP Archive of a browser.", completion: .file())
    var file: String

    @Argument(parsing: .postTerminator, help: "The program and its arguments, behind --.")
    var command: [String]

    func validate() throws {
        if command.isEmpty { throw ValidationError("give the program behind --: outrider replay FILE -- COMMAND") }
    }

    func run() throws {
        try StagedProgram(file: file, mode: "none", command: command).run()
    }
}

/// A program with a service of its own that records or plays.
struct StagedProgram {
    enum RecordMode: String, ExpressibleByArgument, CaseIterable { case all, newEpisodes }

    var file: String
    var mode: String
    var command: [String]

    /// Seconds until the service has to listen.
    private static let patience = 30.0

    func run() throws(CommandFailure) {
        // before the service begins the cassette anew
        try Self.checkProgram(command[0])
        let path = Settings.absolute(file)
        try checkFile(path)
        if mode == "all" { try checkReplaced(path) }
        let directory = try Self.makeDirectory()
        defer { rmdir(directory) }
        let socket = "\(directory)/s"
        // the service ends by itself if this command is killed
        let words = ["serve", "--staged", "--socket", socket, "--idle-exit", "60", "--replay", "\(path):\(mode)"]
        let service = try Child(words, [], isDetached: false, isAside: true)
        defer {
            unlink(socket)
            unlink(socket + ".lock")
        }
        let status: Int32
        let info: JSONObject
        do throws(CommandFailure) {
            var client = try Self.connect(socket, service)
            var environment = ["OUTRIDER_SOCKET=\(socket)"]
            if mode == "none" { environment.append("OUTRIDER_REPLAY=\(path):none") }
            status = try Self.run(command, adding: environment)
            info = try client.object("replay.stop", ["session": .string("*")], by: Deadline(after: Self.patience))
        } catch {
            kill(service.processID, SIGTERM)
            service.wait()
            throw error
        }
        kill(service.processID, SIGTERM)
        service.wait()
        try Self.report(info, path)
        if status != 0 { throw CommandFailure(code: status, nil) }
    }

    /// Throws if the cassette is absent, or cannot be there: the service would blame a flag, which was not written.
    private func checkFile(_ path: String) throws(CommandFailure) {
        let isPlayed = mode == "none"
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard access(isPlayed ? path : folder, isPlayed ? R_OK : F_OK) != 0 else { return }
        let reason = systemError(errno)
        throw CommandFailure(
            .noConnection,
            isPlayed
                ? "the cassette \(path) cannot be read: \(reason) (outrider record \(file) -- COMMAND makes one)"
                : "the cassette \(path) cannot be opened to record: \(folder): \(reason)")
    }

    /// Throws if the recording would replace a file that is no archive, such as the program itself.
    private func checkReplaced(_ path: String) throws(CommandFailure) {
        var info = stat()
        guard stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size > 0 else { return }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        if CassetteReader.mayReplace(try FileBytes.read(descriptor, named: path) ?? []) { return }
        throw CommandFailure(
            .usage, "\(path) is no cassette, and recording would replace it: name another file, or remove this one")
    }

    /// Reports the state of the cassette. Throws if the recording failed.
    private static func report(_ info: JSONObject, _ path: String) throws(CommandFailure) {
        if let message = info["failure"]?.object?["message"]?.string {
            throw CommandFailure(.error, "the recording failed: \(message)")
        }
        let (recorded, missed) = (info["recorded"]?.integer ?? 0, info["missed"]?.integer ?? 0)
        if case .bool(true)? = info["recording"] {
            StandardError.line("outrider: \(recorded) attempt\(recorded == 1 ? "" : "s") recorded to \(path)")
        }
        if missed > 0 {
            StandardError.line("outrider: \(missed) request\(missed == 1 ? " was" : "s were") not in \(path)")
        }
    }

    /// Throws if there is no such program, which is searched for as `posix_spawnp` does.
    private static func checkProgram(_ name: String) throws(CommandFailure) {
        var places = [name]
        if !name.contains("/") {
            let path = environmentVariable("PATH") ?? "/bin:/usr/bin"
            places = path.split(separator: ":", omittingEmptySubsequences: false).map { directory in
                directory.isEmpty ? "./\(name)" : "\(directory)/\(name)"
            }
        }
        var code = ENOENT
        for place in places {
            var info = stat()
            guard stat(place, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
            if access(place, X_OK) == 0 { return }
            code = EACCES
        }
        throw CommandFailure(.usage, "cannot start \(name): \(systemError(code))")
    }

    private static func makeDirectory() throws(CommandFailure) -> String {
        let named = environmentVariable("TMPDIR") ?? "/tmp"
        // a socket has room for a short path alone
        let isShort = "\(named)/outrider-XXXXXX/s.lock".utf8.count < SocketPath.longest
        let folder = isShort ? named : "/tmp"
        var template = Array("\(folder)/outrider-XXXXXX".utf8CString)
        let isMade = template.withUnsafeMutableBufferPointer { text in
            text.baseAddress.map { mkdtemp($0) != nil } ?? false
        }
        guard isMade else {
            throw CommandFailure(
                .noConnection,
                "cannot make a directory for the socket in \(folder): \(systemError(errno)) (set TMPDIR)")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Waits until the service listens, or has ended.
    private static func connect(_ socket: String, _ service: Child) throws(CommandFailure) -> ServiceClient {
        let path = try ServicePath(flag: socket)
        let deadline = Deadline(after: patience)
        while true {
            if let wire = try? path.connect() { return ServiceClient(wire) }
            var status: Int32 = 0
            if waitpid(service.processID, &status, WNOHANG) == service.processID {
                // the service has printed the reason
                throw CommandFailure(.noConnection, nil)
            }
            if deadline.milliseconds == 0 {
                throw CommandFailure(.timedOut, "the service takes long to start")
            }
            usleep(5000)
        }
    }

    /// Runs the program to its end. Returns the exit status; after a signal, 128 plus its number.
    private static func run(_ command: [String], adding variables: [String]) throws(CommandFailure) -> Int32 {
        for variable in variables {
            let name = variable.prefix { $0 != "=" }
            setenv(String(name), String(variable.dropFirst(name.count + 1)), 1)
        }
        var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        for one in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, one) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        // the terminal's interrupt is for the program, whose end also ends this command
        signal(SIGINT, SIG_IGN)
        ForwardedSignals.begin()
        var processID: pid_t = 0
        let result = posix_spawnp(&processID, command[0], nil, &attributes, words, environ)
        guard result == 0 else {
            throw CommandFailure(.usage, "cannot start \(command[0]): \(systemError(result))")
        }
        ForwardedSignals.forward(to: processID)
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}

/// SIGTERM and SIGHUP go to the program, whose end also ends this command: so the service ends, and its directory goes.
private enum ForwardedSignals {
    /// 0 before the program runs.
    private static let program = Atomic<pid_t>(0)
    /// A signal that came before; else 0.
    private static let early = Atomic<Int32>(0)

    static func begin() {
        // made here, because a handler must not allocate
        early.store(0, ordering: .relaxed)
        program.store(0, ordering: .relaxed)
        for one in [SIGTERM, SIGHUP] {
            signal(one) { number in
                let program = ForwardedSignals.program.load(ordering: .sequentiallyConsistent)
                if program > 0 {
                    kill(program, number)
                } else {
                    ForwardedSignals.early.store(number, ordering: .sequentiallyConsistent)
                }
            }
        }
    }

    static func forward(to processID: pid_t) {
        program.store(processID, ordering: .sequentiallyConsistent)
        let number = early.exchange(0, ordering: .sequentiallyConsistent)
        if number > 0 { kill(processID, number) }
    }
}
