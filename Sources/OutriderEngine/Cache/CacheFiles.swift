// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// The reason why a named cache has no store on disk.
package struct CacheStoreFailure: Error, Sendable {
    /// One sentence for people.
    package var message: String
}

/// The files of a named cache: `cache.db` with its `-wal` and `-shm`, `store.lock`, `secret`, and bodies of their own.
struct CacheFiles: Sendable {
    let directory: String

    var database: String { "\(directory)/cache.db" }
    var lock: String { "\(directory)/store.lock" }
    var temporary: String { "\(directory)/tmp" }
    private var bodies: String { "\(directory)/bodies" }

    private static let asideSeconds = 7 * 86_400
    private static let mostAside = 2
    /// The ends of the names of the files that SQLite keeps beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]
    /// A file without a row that is older than this was left by a process that was killed.
    private static let orphanSeconds = 3600

    /// The directory of all caches of the user, unless a setting names another directory.
    static var usualRoot: String? { UserDirectory.data("caches") }

    /// Makes the directories if need be, and the secret; refuses a directory that others may enter. Blocks.
    static func prepare(_ directory: String) throws(CacheStoreFailure) -> (CacheFiles, secret: [UInt8]) {
        do throws(OAuthFailure) {
            try StoreFile.makeDirectory(directory)
            // a link among the parents is followed here, once: SQLite follows none
            let files = CacheFiles(directory: StoreFile.resolved(directory))
            return (files, try files.prepare())
        } catch {
            throw CacheStoreFailure(message: error.message)
        }
    }

    private func prepare() throws(OAuthFailure) -> [UInt8] {
        for path in [temporary, bodies] { try StoreFile.makeDirectory(path) }
        try StoreRoot(directory).inspect()
        let path = "\(directory)/secret"
        if let bytes = try StoreFile.read(path) {
            if bytes.count == Self.secretBytes { return bytes }
            // entries under a lost secret are not found again, and give way with time
            rename(path, "\(path)-damaged")
        }
        var generator = SystemRandomNumberGenerator()
        let fresh = (0..<Self.secretBytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
        // the first that gives the file its name decides: another process, or another thread of this one, may be faster
        let own = "\(path)-\(getpid())-\(UInt64.random(in: 0 ... .max, using: &generator)).tmp"
        try StoreFile.write(fresh, to: own)
        defer { unlink(own) }
        if link(own, path) == 0 { return fresh }
        guard let bytes = try StoreFile.read(path), bytes.count == Self.secretBytes else {
            throw StoreFile.failure("read", path)
        }
        return bytes
    }

    private static let secretBytes = 32

    /// The secret of a cache that exists; nil if it cannot be read.
    var secret: [UInt8]? {
        guard let bytes = try? StoreFile.read("\(directory)/secret"), bytes.count == Self.secretBytes else {
            return nil
        }
        return bytes
    }

    /// The caches in a directory that have a database.
    static func all(in root: String) -> [CacheFiles] {
        let root = StoreFile.resolved(root)
        return DirectoryNames.all(in: root).map { CacheFiles(directory: "\(root)/\($0)") }.filter(\.hasDatabase)
    }

    // MARK: bodies

    /// Whether a text from the database is the name of a body.
    static func isName(_ name: String) -> Bool {
        name.utf8.count == 16 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    func path(of name: String) -> String { "\(bodies)/\(name.prefix(2))/\(name)" }

    /// Writes a body under a new name; the file is complete and on the disk when this returns. Nil if there is no room.
    func write(_ bytes: [UInt8]) -> String? {
        var generator = SystemRandomNumberGenerator()
        let number = UInt64.random(in: 0 ... .max, using: &generator)
        let digits = String(number, radix: 16)
        let name = String(repeating: "0", count: 16 - digits.count) + digits
        let (folder, own) = ("\(bodies)/\(name.prefix(2))", "\(temporary)/\(name)")
        do throws(OAuthFailure) {
            try StoreFile.makeDirectory(folder)
            let file = try StoreFile.open(own, O_WRONLY | O_CREAT | O_TRUNC, "write")
            defer { close(file) }
            try StoreFile.append(bytes, to: file, own)
            if fsync(file) != 0 { throw StoreFile.failure("sync", own) }
        } catch {
            unlink(own)
            return nil
        }
        guard rename(own, path(of: name)) == 0 else {
            unlink(own)
            return nil
        }
        Self.sync(folder)
        return name
    }

    private static func sync(_ directory: String) {
        let file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { return }
        fsync(file)
        close(file)
    }

    func remove(_ names: [String]) { for name in names { unlink(path(of: name)) } }

    /// A number that differs after each change of the file, made from its times; nil for a missing file, or another length.
    func changed(_ name: String, size: Int) -> Int64? {
        var info = stat()
        guard lstat(path(of: name), &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_size == size else {
            return nil
        }
        // a program may set the first time, but not the second
        return nanoseconds(info.st_mtim) &* 31 &+ nanoseconds(info.st_ctim)
    }

    private func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    private static let pieceBytes = 256 << 10

    /// The checksum of a body; nil if the file cannot be read.
    func checksum(_ name: String, size: Int) -> Int64? {
        guard let body = opened(name, size: size) else { return nil }
        var check = CyclicCheck()
        for start in stride(from: 0, to: size, by: Self.pieceBytes) {
            guard let bytes = body.read(start..<min(size, start + Self.pieceBytes)) else { return nil }
            check.add(bytes)
        }
        return check.result
    }

    /// Opens a body; nil if the file is gone or has another length.
    func opened(_ name: String, size: Int) -> OpenBody? {
        guard let file = try? CheckedFile.open(path(of: name), O_RDONLY, .own) else { return nil }
        let body = OpenBody(file)
        var info = stat()
        guard fstat(file, &info) == 0, info.st_size == size else { return nil }
        return body
    }

    /// The file of a body, which stays readable when its entry is replaced or evicted.
    final class OpenBody: Sendable {
        private let file: Int32

        fileprivate init(_ file: Int32) { self.file = file }

        deinit { close(file) }

        /// A part; nil if the file cannot be read.
        func read(_ range: Range<Int>) -> [UInt8]? {
            let bytes = FileBytes.read(file, at: range.lowerBound, most: range.count)
            return bytes?.count == range.count ? bytes : nil
        }
    }

    /// Removes the database: all entries are absent.
    func dropDatabase() {
        // the log first: a process that opens the database meanwhile must not replay the log into a new file
        for end in Self.companions + [""] { unlink(database + end) }
    }

    /// Whether there is a database, even if damaged; false for an empty file.
    var hasDatabase: Bool {
        var info = stat()
        return lstat(database, &info) == 0 && info.st_size > 0
    }

    /// Renames a damaged database; the last two are kept for a week.
    func putAside(now: Int64) {
        let mark = "\(directory)/damaged-\(now / 1000)"
        for end in [""] + Self.companions { rename(database + end, "\(mark).db\(end)") }
        let aside = DirectoryNames.all(in: directory).filter { $0.hasPrefix("damaged-") && $0.hasSuffix(".db") }
            .sorted()
        for name in aside.dropLast(Self.mostAside) {
            for end in [""] + Self.companions { unlink("\(directory)/\(name)\(end)") }
        }
    }

    /// Removes the files that killed processes have left.
    ///
    /// - Parameter known: the files that entries have.
    func clean(now: Int64, known: Set<String>) {
        for path in DirectoryNames.all(in: temporary).map({ "\(temporary)/\($0)" }) where isOld(path, now) {
            unlink(path)
        }
        for folder in DirectoryNames.all(in: bodies) where folder.utf8.count == 2 && !folder.hasPrefix(".") {
            for name in DirectoryNames.all(in: "\(bodies)/\(folder)") where name.utf8.count == 16 {
                let path = "\(bodies)/\(folder)/\(name)"
                if !known.contains(name), isOld(path, now) { unlink(path) }
            }
        }
    }

    private func isOld(_ path: String, _ now: Int64) -> Bool {
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return false }
        return Int64(info.st_mtim.tv_sec) < now / 1000 - Int64(Self.orphanSeconds)
    }
}
