// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
package import OutriderHTTP
package import Synchronization

/// Runs a program with bytes for standard input, and collects its standard output. Blocks.
///
/// The program leads a session of its own, so that a Ctrl-C does not reach it, and inherits only the first three
/// descriptors.
package enum ChildProcess {
    package enum Outcome: Sendable, Equatable {
        /// The exit status, or 128 plus the signal; and the whole output.
        case ended(Int32, [UInt8])
        case tooLong
        /// The output exceeds the limit of 4 MiB.
        case tooMuch
        /// With `errno`.
        case notStarted(Int32)
    }

    /// POSIX_SPAWN_SETSID of glibc.
    private static let newSession: CInt = 0x80
    /// Limit of the output, in bytes.
    private static let mostBytes = 4 << 20

    /// The limit of open files that this process was started with; nil if unchanged.
    ///
    /// Programs that use `select` fail with more than 1024.
    package static let fileLimit = Mutex<(soft: UInt64, hard: UInt64)?>(nil)

    /// - Parameters:
    ///   - path: of the program; nil to search PATH for its name.
    ///   - isSheltered: block signals until the program unblocks them, so that no signal ends the program before
    ///     its handlers are set.
    ///   - seconds: limit; then the program and its process group are killed. Time in system sleep does not count,
    ///     since the program sleeps, too.
    package static func run(
        _ words: [String], path: String? = nil, input: Secret = Secret(""), isSheltered: Bool = false, seconds: Double
    ) -> Outcome {
        var inward: [CInt] = [-1, -1]
        var outward: [CInt] = [-1, -1]
        guard pipe2(&inward, O_CLOEXEC) == 0 else { return .notStarted(errno) }
        guard pipe2(&outward, O_CLOEXEC) == 0 else {
            let code = errno
            for file in inward { close(file) }
            return .notStarted(code)
        }
        var process: pid_t = 0
        let code = spawn(words, path, inward[0], outward[1], isSheltered, &process)
        close(inward[0])
        close(outward[1])
        defer { close(outward[0]) }
        guard code == 0 else {
            close(inward[1])
            return .notStarted(code)
        }
        if let limit = fileLimit.withLock({ $0 }) { _ = outrider_limit_files(process, limit.soft, limit.hard) }
        let output = exchange(input, inward[1], outward[0], with: process, seconds: seconds)
        // the process group exists until the process is waited for
        if output == nil || output.map({ $0.count > mostBytes }) == true { kill(-process, SIGKILL) }
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        guard let output else { return .tooLong }
        if output.count > mostBytes { return .tooMuch }
        let signal = status & 0x7F
        return .ended(signal == 0 ? (status >> 8) & 0xFF : 128 + signal, output)
    }

    private static func spawn(
        _ words: [String], _ path: String?, _ input: CInt, _ output: CInt, _ isSheltered: Bool,
        _ process: inout pid_t
    ) -> CInt {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // the reader of our standard error must not wait for a child that outlives us
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // default signal handling: we ignore some, and block none for long
        var all = sigset_t()
        var mask = sigset_t()
        sigfillset(&all)
        if isSheltered { sigfillset(&mask) } else { sigemptyset(&mask) }
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &mask)
        let flags = CInt(POSIX_SPAWN_SETSIGDEF) | CInt(POSIX_SPAWN_SETSIGMASK) | newSession
        posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var variables = variables().map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        if let path { return posix_spawn(&process, path, &actions, &attributes, &arguments, &variables) }
        return posix_spawnp(&process, words.first ?? "", &actions, &attributes, &arguments, &variables)
    }

    /// The environment of this process, without crash reports: they would show the memory that registers point at.
    private static func variables() -> [String] {
        var found = ["SWIFT_BACKTRACE=enable=no"]
        var next = environ
        while let variable = next.pointee {
            let text = String(cString: variable)
            if !text.hasPrefix("SWIFT_BACKTRACE=") { found.append(text) }
            next += 1
        }
        return found
    }

    /// Writes the input and reads the output until the pipe is closed, or the process has ended: a grandchild may keep
    /// the other end open for ever. Nil on timeout. Closes the input pipe.
    private static func exchange(
        _ input: Secret, _ inward: CInt, _ outward: CInt, with process: pid_t, seconds: Double
    ) -> [UInt8]? {
        var inward = inward
        let life = outrider_process_open(process)
        defer {
            if inward >= 0 { close(inward) }
            if life >= 0 { close(life) }
        }
        _ = fcntl(inward, F_SETFL, O_NONBLOCK)
        _ = fcntl(outward, F_SETFL, O_NONBLOCK)
        var (written, output) = (0, [UInt8]())
        let end = Clocks.awake + seconds
        while true {
            if written >= input.count, inward >= 0 {
                close(inward)
                inward = -1
            }
            let left = end - Clocks.awake
            guard left > 0 else { return nil }
            if output.count > mostBytes { return output }
            var files = [
                pollfd(fd: outward, events: Int16(POLLIN), revents: 0),
                pollfd(fd: inward, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: life, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&files, 3, CInt(min(left * 1000 + 1, 60_000))) < 0, errno != EINTR { return nil }
            if files[1].revents != 0 {
                let count = input.withBytes { bytes in
                    let rest = UnsafeBufferPointer(rebasing: bytes.dropFirst(written))
                    return write(inward, rest.baseAddress, rest.count)
                }
                // a program that does not read its input may still have output
                written = count > 0 ? written + count : errno == EAGAIN || errno == EINTR ? written : input.count
            }
            // all output written before the end is in the pipe by now
            if files[0].revents != 0 || files[2].revents != 0 {
                var count = 0
                output += [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, used in
                    count = read(outward, buffer.baseAddress, buffer.count)
                    used = max(0, count)
                }
                if count == 0 { return output }
                if count < 0, errno == EAGAIN, files[2].revents != 0 { return output }
                if count < 0, errno != EINTR, errno != EAGAIN { return nil }
            }
        }
    }
}
