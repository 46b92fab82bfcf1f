// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// A value that the kernel gave at the start (getauxval(3)), which Swift's module of glibc hides.
@_silgen_name("getauxval")
private func auxiliaryValue(_ type: UInt) -> UInt

/// Starts this same program as another process.
struct Child {
    /// The child's descriptor of that number.
    struct Descriptor {
        var ours: Int32
        var theirs: Int32
    }

    var processID: pid_t

    /// POSIX_SPAWN_SETSID, which the module map hides.
    private static let newSession: Int16 = 0x80

    /// - Parameters:
    ///   - isDetached: in a session of its own, so that no terminal's end is its end.
    ///   - environment: as `NAME=value`; nil for that of this process.
    init(
        _ arguments: [String], _ descriptors: [Descriptor], isDetached: Bool, isAside: Bool = false,
        environment: [String]? = nil
    ) throws(CommandFailure) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // First to unused numbers, so that none overwrites another. The lowest: a shell may allow few (ulimit -n).
        let unused = (descriptors.map(\.theirs).max() ?? STDERR_FILENO) + 1
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for descriptor in descriptors {
            let copy = fcntl(descriptor.ours, F_DUPFD_CLOEXEC, unused)
            if copy >= 0 { copies.append(copy) }
            let fault = copy < 0 ? errno : posix_spawn_file_actions_adddup2(&actions, copy, descriptor.theirs)
            guard fault == 0 else {
                throw CommandFailure(.noConnection, "cannot start \(Self.program): \(systemError(fault))")
            }
        }
        if isDetached {
            posix_spawnattr_setflags(&attributes, Self.newSession)
            Self.keepInheritedFiles()
        } else if isAside {
            // a process group of its own: the terminal's interrupt is for the program beside it
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        }
        var processID: pid_t = 0
        let program = Self.program
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var variables: [UnsafeMutablePointer<CChar>?] = (environment ?? []).map { strdup($0) }
        defer { for variable in variables { free(variable) } }
        variables.append(nil)
        let result = variables.withUnsafeBufferPointer { variables in
            let given = environment == nil ? UnsafePointer(environ) : variables.baseAddress
            return posix_spawnp(&processID, program, &actions, &attributes, words, given)
        }
        guard result == 0 else {
            throw CommandFailure(.noConnection, "cannot start \(program): \(systemError(result))")
        }
        self.processID = processID
    }

    /// Waits for its end. Returns its exit status; nil if a signal ended it.
    @discardableResult
    func wait() -> Int32? {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
    }

    /// Inherited files beyond standard input, output and error are not passed on: a service that lives for days would
    /// keep them open for as long.
    static func keepInheritedFiles() {
        guard let directory = opendir("/proc/self/fd") else {
            for file in 3..<Int32(clamping: max(3, min(sysconf(Int32(_SC_OPEN_MAX)), 1 << 16))) {
                _ = fcntl(file, F_SETFD, FD_CLOEXEC)
            }
            return
        }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let file = Int32(name), file > 2 { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
        }
    }

    /// The executable of this process, even after renaming. After an upgrade, which replaces the file, the new file; if
    /// there is none, the file that this process still holds (proc_pid_exe(5)). Without /proc, the file that the kernel
    /// started, and not the name that the caller chose.
    private static var program: String {
        let itself = "/proc/self/exe"
        let mark = " (deleted)"
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = readlink(itself, &buffer, buffer.count)
        guard count > 0 else {
            // AT_EXECFN
            let started = UnsafePointer<CChar>(bitPattern: auxiliaryValue(31)).map { String(cString: $0) }
            if let started, access(started, X_OK) == 0 { return started.contains("/") ? started : "./" + started }
            return CommandLineWords.all.first ?? "outrider"
        }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        guard path.hasSuffix(mark) else { return path }
        let replacement = String(path.dropLast(mark.count))
        return access(replacement, X_OK) == 0 ? replacement : itself
    }
}

/// Two ends of a pipe, closed on exec.
struct PipeEnds {
    var reading: Int32
    var writing: Int32

    init() throws(CommandFailure) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CommandFailure(.noConnection, "cannot make a pipe: \(systemError(errno))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reading = ends[0]
        writing = ends[1]
    }
}
