// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The bytes of standard input, or of another pipe, to the end.
enum StandardInput {
    /// The most that travels inside a message.
    private static let most = 4 << 20

    enum Content {
        case bytes([UInt8])
        /// Longer input: a file without a name, open in this process until its end.
        case file(String)
    }

    static func read(_ input: Int32 = STDIN_FILENO) throws(CommandFailure) -> Content {
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(input) {
            bytes += piece
            if bytes.count > most { return .file(try spill(bytes, and: input)) }
        }
        return .bytes(bytes)
    }

    /// The path of a file without a name, open in this process until its end, with these bytes and those of the input.
    private static func spill(_ begun: [UInt8], and input: Int32? = nil) throws(CommandFailure) -> String {
        let folder = environmentVariable("TMPDIR") ?? "/tmp"
        var template = Array("\(folder)/outrider-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else {
            throw CommandFailure(
                .error, "cannot make a temporary file in \(folder): \(systemError(errno)) (set TMPDIR)")
        }
        unlink(template)
        var piece: [UInt8]? = begun
        while let bytes = piece {
            if !bytes.withUnsafeBytes({ FileBytes.write($0, to: file) }) {
                throw CommandFailure(.error, "cannot write a temporary file: \(systemError(errno))")
            }
            piece = try input.flatMap { (input) throws(CommandFailure) in try FileBytes.read(input) }
        }
        return "/proc/\(getpid())/fd/\(file)"
    }
}

extension StandardInput {
    /// The bytes of a file, or of standard input for `-`, where several pieces become a single body: 4 MiB at most.
    static func bytes(of name: String) throws(CommandFailure) -> [UInt8] {
        let file = name == "-" ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.usage, "cannot read \(name): \(systemError(errno))") }
        defer { if name != "-" { close(file) } }
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(file, named: name) {
            bytes += piece
            if bytes.count > most {
                throw CommandFailure(
                    .usage, "\(name) is longer than 4 MiB and one of several pieces (send it as the only --data)")
            }
        }
        return bytes
    }

    /// The text of a file, or of standard input for `-`.
    static func text(of name: String) throws(CommandFailure) -> String {
        try text(bytes(of: name), of: name == "-" ? "standard input" : name)
    }

    /// - Throws: if the bytes of the source are not UTF-8: decoding would change them.
    static func text(_ bytes: [UInt8], of source: String) throws(CommandFailure) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        throw CommandFailure(.usage, "\(source) is not UTF-8: write the text in UTF-8, as iconv(1) does")
    }

    /// The member of a call that carries the bytes: `text`, or `path` for bytes that are not UTF-8, which no text holds.
    static func member(_ bytes: [UInt8]) throws(CommandFailure) -> (name: String, value: JSONValue) {
        if let text = String(validating: bytes, as: UTF8.self) { return ("text", .string(text)) }
        return ("path", .string(try spill(bytes)))
    }

    /// The whole input, if short.
    static func whole(most: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(STDIN_FILENO) {
            bytes += piece
            if bytes.count > most { throw CommandFailure(.usage, "standard input is too long") }
        }
        return bytes
    }
}
