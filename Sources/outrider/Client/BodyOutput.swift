// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where a body is written: a file, or standard output. A terminal gets no binary data unless asked with `-o -`.
struct BodyOutput: ~Copyable {
    /// How much of a body is looked at to tell whether it is binary.
    private static let lookedAt = 1024

    private let file: Int32
    private let name: String?
    private let refusesBinary: Bool

    /// The file is emptied at once, so that a wrong path is known before anything is sent.
    init(_ path: String?) throws(CommandFailure) {
        guard let path, path != "-" else {
            file = STDOUT_FILENO
            name = nil
            refusesBinary = path == nil && isatty(STDOUT_FILENO) == 1
            return
        }
        name = path
        refusesBinary = false
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw CommandFailure(.error, "cannot write \(path): \(systemError(errno))") }
    }

    deinit {
        if name != nil, file >= 0 { close(file) }
    }

    func write(_ bytes: [UInt8], contentType: String? = nil) throws(CommandFailure) {
        if refusesBinary, bytes.prefix(Self.lookedAt).contains(0) {
            let type = contentType.map { " (\($0))" } ?? ""
            throw CommandFailure(
                .error,
                "this body is binary\(type), and would upset the terminal: use -o FILE, a pipe, or -o - to see it")
        }
        let isWritten = bytes.withUnsafeBytes { FileBytes.write($0, to: file) }
        if !isWritten { throw failure(errno) }
    }

    /// A full disk may only be noticed at the end.
    func finish() throws(CommandFailure) {
        if name != nil, fsync(file) != 0, errno == EIO || errno == ENOSPC || errno == EDQUOT { throw failure(errno) }
    }

    private func failure(_ number: Int32) -> CommandFailure {
        if number == EPIPE { return CommandFailure(.error, nil) }
        return CommandFailure(.error, "cannot write \(name ?? "to standard output"): \(systemError(number))")
    }
}
