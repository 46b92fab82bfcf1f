// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Where a body is written: a file, or standard output. A terminal gets no binary data unless asked with `-o -`.
struct BodyOutput: ~Copyable {
    /// Bytes of a body that are examined for binary content.
    private static let lookedAt = 1024

    private var file: Int32
    private let name: String?
    private let refusesBinary: Bool
    /// How a new file is opened; nil for an open file.
    private var flags: Int32?
    private var isBegun = false
    /// Whether this command has written the file, in this attempt or an earlier one.
    private var isWritten = false

    /// The file is opened at once, so that a wrong path is known before anything is sent, and keeps what is in it until there
    /// is something to write. A new file is there from then on: an interrupted command leaves no empty file.
    ///
    /// - Parameters:
    ///   - isNew: refuse a file that exists; for names that a server chose.
    init(_ path: String?, isNew mustBeNew: Bool = false) throws(CommandFailure) {
        let standard = path.flatMap { mustBeNew && $0 != "-" ? nil : Self.standardFile($0) }
        guard let path, standard == nil else {
            file = standard ?? STDOUT_FILENO
            name = nil
            refusesBinary = path == nil && isatty(STDOUT_FILENO) == 1
            return
        }
        name = path
        refusesBinary = false
        let usual = O_WRONLY | O_CREAT | O_CLOEXEC
        let created = open(path, usual | O_EXCL, 0o666)
        let isNew = created >= 0
        flags = isNew ? usual | (mustBeNew ? O_EXCL : 0) : nil
        file = isNew || mustBeNew ? created : open(path, usual, 0o666)
        if isNew {
            close(created)
            unlink(path)
            file = -1
        }
        guard file >= 0 || isNew else {
            throw CommandFailure(code: FailureStatus.file, "cannot write \(path): \(systemError(errno))")
        }
    }

    /// Standard output for `-`, and the descriptor of standard output or standard error for a path of the same file: a
    /// further descriptor would write over the output.
    private static func standardFile(_ path: String) -> Int32? {
        if path == "-" { return STDOUT_FILENO }
        guard let identity = FileIdentity(path) else { return nil }
        return [STDOUT_FILENO, STDERR_FILENO].first { FileIdentity($0) == identity }
    }

    deinit {
        if name != nil, file >= 0 { close(file) }
    }

    /// Whether the body goes to a terminal, for a person to read; `-o -` asks for the unchanged bytes.
    var isShown: Bool { refusesBinary }

    /// Whether what was written can be taken back: in a regular file, or in one that is not there yet.
    var canBeginAnew: Bool {
        if name == nil || file < 0 { return name != nil }
        var info = stat()
        return fstat(file, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
    }

    /// Writes the file from its start, in place of what is in it.
    mutating func beginAnew() {
        if file >= 0 { lseek(file, 0, SEEK_SET) }
        isBegun = false
    }

    private mutating func begin() throws(CommandFailure) {
        if let flags, let name {
            file = open(name, flags, 0o666)
            guard file >= 0 else { throw failure(errno) }
            self.flags = nil
        }
        if isBegun { return }
        (isBegun, isWritten) = (true, true)
        // pipes and devices have no length
        if name != nil, ftruncate(file, 0) != 0, errno != EINVAL { throw failure(errno) }
    }

    mutating func write(_ bytes: [UInt8], contentType: String? = nil) throws(CommandFailure) {
        if bytes.isEmpty { return }
        try begin()
        if refusesBinary, bytes.prefix(Self.lookedAt).contains(0) {
            let type = contentType.map { " (\($0))" } ?? ""
            throw CommandFailure(
                .error,
                "this body is binary\(type), and would upset the terminal: use -o FILE, a pipe, or -o - to see it")
        }
        let isWritten = bytes.withUnsafeBytes { FileBytes.write($0, to: file) }
        if !isWritten { throw failure(errno) }
    }

    /// Writes bytes as they are, whatever reads them.
    mutating func write(raw bytes: UnsafeRawBufferPointer) throws(CommandFailure) {
        try begin()
        if !FileBytes.write(bytes, to: file) { throw failure(errno) }
    }

    /// A full disk may only be noticed at the end.
    ///
    /// - Parameter replaces: whether what is in the file goes although nothing was written.
    mutating func finish(replaces: Bool = true) throws(CommandFailure) {
        if !replaces, !isBegun { return }
        try begin()
        if name != nil, fsync(file) != 0, errno == EIO || errno == ENOSPC || errno == EDQUOT { throw failure(errno) }
    }

    /// Whether a regular file was written, whose name is known.
    private var isWrittenFile: Bool {
        var info = stat()
        return name != nil && isWritten && file >= 0 && fstat(file, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
    }

    /// Gives the file that was written a time in seconds since 1970.
    func setTime(_ seconds: Int64) {
        guard isWrittenFile else { return }
        let time = timespec(tv_sec: Int(clamping: seconds), tv_nsec: 0)
        _ = withUnsafeTemporaryAllocation(of: timespec.self, capacity: 2) { times in
            times.initialize(repeating: time)
            return futimens(file, times.baseAddress)
        }
    }

    /// Removes the file that was written.
    func discard() {
        if isWrittenFile, let name { unlink(name) }
    }

    private func failure(_ number: Int32) -> CommandFailure {
        if number == EPIPE { return CommandFailure(.error, nil) }
        guard let name else {
            let stream = file == STDERR_FILENO ? "standard error" : "standard output"
            return CommandFailure(.error, "cannot write to \(stream): \(systemError(number))")
        }
        return CommandFailure(code: FailureStatus.file, "cannot write \(name): \(systemError(number))")
    }
}

/// Which file a path or a descriptor leads to, for regular files.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t

    init?(_ path: String) {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        self.init(info)
    }

    init?(_ file: Int32) {
        var info = stat()
        guard fstat(file, &info) == 0 else { return nil }
        self.init(info)
    }

    private init?(_ info: stat) {
        guard info.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, inode) = (info.st_dev, info.st_ino)
    }
}
