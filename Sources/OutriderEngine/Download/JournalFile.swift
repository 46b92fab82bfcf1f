// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// The journal beside a partial file. All calls block.
///
/// The directory may be writable for every user. So a journal is read only if the file is a regular file of this user
/// without other links, and is written under a new, random name before the rename.
struct JournalFile: Sendable {
    let home: DownloadPlace
    let name: String

    init(beside partial: String, in home: DownloadPlace) {
        self.home = home
        name = PartialName.journal(beside: partial)
    }

    /// Nil if the journal is missing or damaged, or not a file of this user.
    func read() -> DownloadJournal? {
        guard let file = try? CheckedFile.open(name, in: home.descriptor, O_RDONLY, .own) else { return nil }
        defer { close(file) }
        return FileBytes.read(file, most: DownloadJournal.mostBytes + 1).flatMap { DownloadJournal($0) }
    }

    /// Replaces the journal atomically. False if the write failed; then the old journal stays.
    func write(_ journal: DownloadJournal, isDurable: Bool) -> Bool {
        let temporary = "\(prefix)\(UInt64.random(in: 0...UInt64.max))"
        let flags = O_WRONLY | O_CREAT | O_EXCL
        guard let file = try? CheckedFile.open(temporary, in: home.descriptor, flags, .own) else { return false }
        let bytes = journal.bytes
        let isWritten = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) } == bytes.count
        let isSynced = !isDurable || fsync(file) == 0
        close(file)
        guard isWritten, isSynced, renameat(home.descriptor, temporary, home.descriptor, name) == 0 else {
            home.remove(temporary)
            return false
        }
        if isDurable { home.sync() }
        return true
    }

    func remove() { home.remove(name) }

    /// Removes temporary files of a service that was killed during a write.
    func sweep() {
        for name in DirectoryNames.all(in: home.directory) where name.hasPrefix(prefix) { home.remove(name) }
    }

    /// Of the temporary names.
    private var prefix: String { name + "~" }
}
