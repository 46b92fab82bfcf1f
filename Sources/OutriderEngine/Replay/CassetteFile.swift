// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import OutriderFiles
import OutriderHTTP

/// The file that a cassette is recorded to: locked, and valid after each entry.
///
/// An entry and the end of the file are written over the old end in one call, so that what a crash leaves can be read.
// proof: used by one thread at a time, which `RecordingQueue` sees to.
final class CassetteFile: @unchecked Sendable {
    /// Bytes of a cassette.
    static let most = 256 << 20

    private let path: String
    private let file: CInt
    /// Behind the last entry.
    private var end: Int
    private var hasEntries: Bool
    /// Bytes of the file, which a crash may have left beyond its end.
    private var length: Int

    /// Takes the open file with a lock. Throws `cassetteUnusable` if another program records to it.
    private init(_ path: String, _ file: CInt, end: Int, hasEntries: Bool) {
        self.path = path
        self.file = file
        self.end = end
        self.hasEntries = hasEntries
        var info = stat()
        length = fstat(file, &info) == 0 ? Int(info.st_size) : 0
    }

    deinit { close(file) }

    /// Opens the file and reads what is there. Blocks.
    ///
    /// - Parameters:
    ///   - isNew: entries that are there are dropped.
    ///   - program: the version of this program, for the head of a new file.
    static func open(
        _ path: String, isNew: Bool, program: String
    ) throws(HTTPFailure) -> (file: CassetteFile, contents: CassetteReader.Contents) {
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDWR | O_CREAT, [.regular], mode: 0o600)
        } catch {
            throw .unusableCassette(path, "it cannot be opened to record: \(error.description)", posix: error.code)
        }
        do throws(HTTPFailure) {
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                throw .unusableCassette(
                    path, "another program records to it: wait for its end, or use another file", posix: errno)
            }
            if isNew { try checkReplaced(file, path) }
            let contents = try isNew ? CassetteReader.Contents() : read(file, path)
            guard var end = isNew ? 0 : contents.end else {
                throw .unusableCassette(
                    path, "it was written by another program, and can be played only: record to another file")
            }
            if end == 0 { end = try begin(file, path, program) }
            if isNew { removeBodies(path) }
            return (CassetteFile(path, file, end: end, hasEntries: contents.hasEntries), contents)
        } catch {
            close(file)
            throw error
        }
    }

    /// Throws `cassetteUnusable` if the recording would replace a file that is no archive.
    private static func checkReplaced(_ file: CInt, _ path: String) throws(HTTPFailure) {
        guard let start = FileBytes.read(file, at: 0, most: CassetteReader.recognized) else {
            throw .unusableCassette(path, "it cannot be read: \(reason(errno))", posix: errno)
        }
        guard !CassetteReader.mayReplace(start) else { return }
        throw .unusableCassette(
            path, "it is no HTTP Archive, and recording would replace it: name another file, or remove this one")
    }

    private static func begin(_ file: CInt, _ path: String, _ program: String) throws(HTTPFailure) -> Int {
        let head = CassetteWriter.head(program: program)
        guard ftruncate(file, 0) == 0, FileBytes.write(head + CassetteWriter.tail, to: file, at: 0) else {
            throw .unusableCassette(path, "it cannot be written: \(reason(errno))", posix: errno)
        }
        return head.count
    }

    /// Removes the long bodies of the entries that were dropped. Other files stay.
    private static func removeBodies(_ path: String) {
        let directory = path + ".d"
        var info = stat()
        guard lstat(directory, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else { return }
        for name in DirectoryNames.all(in: directory) where isBody(name) { unlink("\(directory)/\(name)") }
        // fails if there are other files
        rmdir(directory)
    }

    /// Whether `keep` gives such names: a SHA-256 in hex.
    private static func isBody(_ name: String) -> Bool {
        name.utf8.count == 64 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func read(_ file: CInt, _ path: String) throws(HTTPFailure) -> CassetteReader.Contents {
        try CassetteReader.read(try bytes(of: file, path), of: path)
    }

    /// All bytes of an open file.
    static func bytes(of file: CInt, _ path: String) throws(HTTPFailure) -> [UInt8] {
        var info = stat()
        guard fstat(file, &info) == 0 else { throw .unusableCassette(path, reason(errno), posix: errno) }
        guard info.st_size <= most else {
            throw .unusableCassette(path, "it is longer than \(most >> 20) MiB: split it")
        }
        guard let bytes = FileBytes.read(file, at: 0, most: Int(info.st_size)) else {
            throw .unusableCassette(path, reason(errno), posix: errno)
        }
        return bytes
    }

    /// Appends a line. Throws `cassetteUnusable` after it has put the old end back.
    func append(_ line: [UInt8]) throws(HTTPFailure) {
        try checkName()
        let bytes = Array((hasEntries ? ",\n" : "\n").utf8) + line + CassetteWriter.tail
        guard end + bytes.count <= Self.most else {
            throw .unusableCassette(path, "it would be longer than \(Self.most >> 20) MiB: record fewer requests")
        }
        guard FileBytes.write(bytes, to: file, at: end) else {
            let code = errno
            // there was room for the old end
            _ = FileBytes.write(CassetteWriter.tail, to: file, at: end)
            _ = ftruncate(file, end + CassetteWriter.tail.count)
            throw .unusableCassette(path, "it cannot be written: \(Self.reason(code))", posix: code)
        }
        // what is left of a longer entry that a crash has cut off
        if length > end + bytes.count { _ = ftruncate(file, end + bytes.count) }
        length = end + bytes.count
        end = length - CassetteWriter.tail.count
        hasEntries = true
    }

    /// Throws `cassetteUnusable` if the file has no name any more, so that its entries are lost.
    func checkName() throws(HTTPFailure) {
        var info = stat()
        guard fstat(file, &info) == 0, info.st_nlink == 0 else { return }
        throw .unusableCassette(path, "it was removed or replaced while it was recorded: record it anew")
    }

    /// Puts a long body into a file of its own. Returns its name, beside the cassette.
    func keep(_ body: [UInt8]) throws(HTTPFailure) -> String {
        let name = HexText.encode(SHA256.hash(data: body))
        let directory = path + ".d"
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw .unusableCassette(path, "\(directory) cannot be made: \(Self.reason(errno))", posix: errno)
        }
        let place = "\(directory)/\(name)"
        let target: CInt
        do throws(FileFault) {
            target = try CheckedFile.open(place, O_WRONLY | O_CREAT | O_TRUNC, .own)
        } catch {
            throw .unusableCassette(path, "\(place) cannot be written: \(error.description)", posix: error.code)
        }
        defer { close(target) }
        guard FileBytes.write(body, to: target, at: 0) else {
            let code = errno
            unlink(place)
            throw .unusableCassette(path, "\(place) cannot be written: \(Self.reason(code))", posix: code)
        }
        return "\(path.split(separator: "/").last ?? "").d/\(name)"
    }

    /// Syncs to disk.
    func sync() { _ = fdatasync(file) }

    private static func reason(_ code: CInt) -> String { String(cString: strerror(code)).lowercased() }
}
