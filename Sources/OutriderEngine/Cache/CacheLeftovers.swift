// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// Files of removals that the next process with the store takes over.
extension CacheFiles {
    private static let leftover = "left-"

    /// Writes lines for the next process; false if that failed.
    func leave(_ lines: [String]) -> Bool {
        let name = "\(Self.leftover)\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let path = "\(temporary)/\(name)"
        do throws(OAuthFailure) {
            // whole from the first moment that another process can see it
            try StoreFile.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: path)
            try StoreFile.move(path, to: "\(directory)/\(name)")
            return true
        } catch {
            unlink(path)
            return false
        }
    }

    /// What ended processes have left: the lines of each file.
    func leftovers() -> [(path: String, lines: [String])] {
        DirectoryNames.all(in: directory).filter { $0.hasPrefix(Self.leftover) }.map { name in
            let path = "\(directory)/\(name)"
            let bytes = (try? StoreFile.read(path)) ?? Array("unreadable".utf8)
            return (path, String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) })
        }
    }

    /// More files than these become a removal of all entries.
    private static let mostLeftovers = 64

    /// Leaves a removal in a store that this process has not opened. Blocks.
    func leaveRemoval(_ change: CacheChange) {
        guard let line = change.line, let lock = try? StoreLock(lock) else { return }
        let left = leftovers().map(\.lines)
        let isFull = left.count >= Self.mostLeftovers
        if isFull, left.contains(["all"]) { return }
        // a full disk: without the database no removed entry comes back
        if !leave([isFull ? "all" : line]) {
            dropDatabase()
            lock.raiseEpoch()
        }
        lock.raiseLeftovers()
    }
}
