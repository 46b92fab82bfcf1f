// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
import NIOSSL

/// Opens a PKCS#12 file in a process of its own first: NIOSSL ends the process that opens a file without a private key,
/// or without a certificate of that key, and only opening shows what an encrypted file holds.
package enum PKCS12Trial {
    enum Outcome: Equatable {
        case opens
        /// The passphrase is wrong, or the file is damaged.
        case fails
        /// The file has no private key with its certificate.
        case lacks
        /// Nothing is known of the file.
        case untried(String)
    }

    /// The only argument of the process that opens the file.
    package static let word = "pkcs12-trial"

    /// A file may ask for any number of rounds to derive its key.
    private static let seconds: UInt32 = 30
    /// Not 0: any other program may end with that.
    private static let opened: CInt = 77
    private static let failed: CInt = 78
    /// POSIX_SPAWN_SETSID of glibc.
    private static let newSession: CInt = 0x80

    /// Blocks.
    static func outcome(of file: [UInt8], _ passphrase: [UInt8]?) -> Outcome {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return notStarted(errno) }
        var process: pid_t = 0
        let code = spawn(input: ends[0], &process)
        close(ends[0])
        if code == 0 {
            let length = UInt32(truncatingIfNeeded: passphrase?.count ?? 0)
            var input: [UInt8] = [passphrase == nil ? 0 : 1]
            for shift: UInt32 in [24, 16, 8, 0] { input.append(UInt8(truncatingIfNeeded: length >> shift)) }
            input += passphrase ?? []
            input += file
            write(input, to: ends[1])
        }
        close(ends[1])
        guard code == 0 else { return notStarted(code) }
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return .untried("its process was lost") }
        }
        switch (status & 0x7F, status >> 8 & 0xFF) {
        case (0, opened): return .opens
        case (0, failed): return .fails
        case (SIGILL, _), (SIGTRAP, _): return .lacks
        case (SIGALRM, _): return .untried("it takes longer than \(seconds) s")
        default: return .untried("its process ended with status \(status)")
        }
    }

    /// The process that opens the file, which standard input has.
    package static func run() -> Never {
        _ = outrider_close_to_others()
        alarm(seconds)
        var input: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(0, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            input += piece.prefix(count)
        }
        guard input.count > 5 else { _exit(1) }
        let length = input[1...4].reduce(0) { $0 << 8 | Int($1) }  // safe: four bytes
        guard length <= input.count - 5 else { _exit(1) }
        let passphrase = input[0] == 0 ? nil : Array(input[5..<(5 + length)])
        let file = Array(input[(5 + length)...])
        _exit((try? NIOSSLPKCS12Bundle(buffer: file, passphrase: passphrase)) == nil ? failed : opened)
    }

    private static func notStarted(_ code: CInt) -> Outcome {
        .untried("no process could be started: \(String(cString: strerror(code)))")
    }

    private static func spawn(input: CInt, _ process: inout pid_t) -> CInt {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        for file in CInt(1)...2 { posix_spawn_file_actions_addopen(&actions, file, "/dev/null", O_WRONLY, 0) }
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var all = sigset_t()
        var none = sigset_t()
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        let flags = CInt(POSIX_SPAWN_SETSIGDEF) | CInt(POSIX_SPAWN_SETSIGMASK) | newSession
        posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
        let words: [String] = ["outrider", word]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        // a report of the crash would show the memory of the process
        var settings = ["SWIFT_BACKTRACE=enable=no"]
        if let path = getenv("LD_LIBRARY_PATH") { settings.append("LD_LIBRARY_PATH=" + String(cString: path)) }
        var variables: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        return posix_spawn(&process, "/proc/self/exe", &actions, &attributes, &arguments, &variables)
    }

    /// A process that has ended reads no more.
    private static func write(_ bytes: [UInt8], to file: CInt) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
