// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// The journal beside a partial file. All calls block.
///
/// The directory may be one in which every user can make files. So a journal is read only if it is a regular file of this user
/// with one name, and it is written under a new, random name before it takes its own.
struct JournalFile: Sendable {
    let home: DownloadPlace
    let name: String

    init(beside partial: String, in home: DownloadPlace) {
        self.home = home
        name = PartialName.journal(beside: partial)
    }

    /// Nil if there is none, or if it is damaged, or not a file of this user.
    func read() -> DownloadJournal? {
        guard let file = try? CheckedFile.open(name, in: home.descriptor, O_RDONLY, .own) else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: DownloadJournal.mostBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { room in
                Glibc.read(file, room.baseAddress.map { $0 + count }, room.count - count)
            }
            if got < 0, errno == EINTR { continue }
            if got <= 0 { break }
            count += got
        }
        return DownloadJournal(Array(bytes.prefix(count)))
    }

    /// Replaces it as a whole. False if it could not be written; the old one stays then.
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

    /// Removes journals that a service was writing when it was killed.
    func sweep() {
        for name in Workspace.names(in: home.directory) where name.hasPrefix(prefix) { home.remove(name) }
    }

    /// Of the names under which it is written.
    private var prefix: String { name + "~" }
}
