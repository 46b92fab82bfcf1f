// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// Why a command ends badly: an exit status that scripts can branch on, and a sentence for people.
struct CommandFailure: Error {
    /// The exit statuses of protocol section 15.
    enum Status: Int32 {
        case error = 1
        case usage = 2
        case noConnection = 3
        case timedOut = 4
        case ended = 5
        case brokeProtocol = 6
    }

    /// The exit status: one of those above, or of a family of failures.
    var code: Int32
    /// Nil when everything has been said.
    var message: String?
    /// A second sentence, on a line of its own.
    var note: String?
    /// The service ended before it had read the whole message, so it has done nothing of it.
    var isUnread = false

    init(_ status: Status, _ message: String?) {
        self.init(code: status.rawValue, message)
    }

    init(code: Int32, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// On standard error, with what servers say made printable.
    func report() {
        for sentence in [message, note].compactMap(\.self) { StandardError.line("outrider: \(sentence)") }
    }
}

/// Standard output, as bytes.
enum StandardOutput {
    /// Throws when the reader is gone: nobody is left to write for.
    static func write(_ bytes: [UInt8]) throws(CommandFailure) {
        if bytes.withUnsafeBytes({ FileBytes.write($0, to: STDOUT_FILENO) }) { return }
        throw CommandFailure(.error, errno == EPIPE ? nil : "cannot write to standard output: \(systemError(errno))")
    }

    static func line(_ bytes: some Collection<UInt8>) throws(CommandFailure) {
        try write(Array(bytes) + [UInt8(ascii: "\n")])
    }
}

enum StandardError {
    /// Writes one line, printable whatever is in the text: controls of terminals and of the direction of text are escaped.
    static func line(_ text: String) { write(text.printable + "\n") }

    /// Writes the text as it is; only for prompts, and for drawing.
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = FileBytes.write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}

enum FileBytes {
    /// The next bytes; nil at the end.
    static func read(_ file: Int32) throws(CommandFailure) -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { bytes, used in
                count = Glibc.read(file, bytes.baseAddress, bytes.count)
                used = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 { return nil }
            if errno != EINTR { throw CommandFailure(.error, "cannot read: \(systemError(errno))") }
        }
    }

    /// Writes all of it, however many calls that takes. False leaves the reason in `errno`.
    static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN {
                    var ready = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&ready, 1, -1)
                    continue
                }
                return false
            }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// What the system calls an error.
func systemError(_ number: Int32) -> String { String(cString: strerror(number)) }
