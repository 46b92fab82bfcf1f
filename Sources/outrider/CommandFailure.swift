// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// Why a command fails: an exit status that scripts can branch on, and a sentence for people.
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

    /// The exit status: of `Status`, or of a family of failures.
    var code: Int32
    /// Nil if the reason has been printed already.
    var message: String?
    /// A second sentence, on a line of its own.
    var note: String?
    /// The OAuth reason of a failure about a credential.
    var reason: String?
    /// The service ended before reading the whole message, so the message had no effect.
    var isUnread = false

    init(_ status: Status, _ message: String?) {
        self.init(code: status.rawValue, message)
    }

    init(code: Int32, _ message: String?) {
        self.code = code
        self.message = message
    }

    /// Writes to standard error, with escapes in text from servers.
    func report() {
        for sentence in [message, note].compactMap(\.self) { StandardError.line("outrider: \(sentence)") }
    }
}

/// Standard output, as bytes.
enum StandardOutput {
    /// Throws if the reader is gone: further output would be lost.
    static func write(_ bytes: [UInt8]) throws(CommandFailure) {
        if bytes.withUnsafeBytes({ FileBytes.write($0, to: STDOUT_FILENO) }) { return }
        throw CommandFailure(.error, errno == EPIPE ? nil : "cannot write to standard output: \(systemError(errno))")
    }

    static func line(_ bytes: some Collection<UInt8>) throws(CommandFailure) {
        try write(Array(bytes) + [UInt8(ascii: "\n")])
    }
}

enum StandardError {
    /// Writes a line with escapes for the controls of terminals and of text direction.
    static func line(_ text: String) { write(text.printable + "\n") }

    /// Writes the text without escapes; only for prompts, and for drawing.
    static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = FileBytes.write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
    }
}

enum FileBytes {
    /// The next bytes; nil at the end.
    ///
    /// - Parameter name: of the file, for the message of a failure.
    static func read(_ file: Int32, named name: String = "the input") throws(CommandFailure) -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { bytes, used in
                count = Glibc.read(file, bytes.baseAddress, bytes.count)
                used = max(0, count)
            }
            if count > 0 { return bytes }
            if count == 0 { return nil }
            if errno == EAGAIN {
                // the program on the other side may have made the file one that does not wait
                var ready = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
                _ = poll(&ready, 1, -1)
                continue
            }
            if errno != EINTR { throw CommandFailure(.error, "cannot read \(name): \(systemError(errno))") }
        }
    }

    /// Writes all bytes, with as many calls as needed. False leaves the reason in `errno`.
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

/// The system's name of an error.
func systemError(_ number: Int32) -> String { String(cString: strerror(number)) }
