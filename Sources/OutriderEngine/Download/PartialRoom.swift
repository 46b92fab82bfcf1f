// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

/// How a partial file gets on with its disk. All calls block, if seldom for long.
extension PartialFile {
    /// Room is taken for so many bytes at once: enough to lie in one piece, and not what a server merely announces.
    static let reserveBytes: Int64 = 256 << 20

    /// Takes room for what will be written there, beyond the end of the file, so that it lies in one piece; the size stays.
    /// False where that is not to be had, and need not be tried again: writing tells why.
    func reserve(_ range: Range<Int64>) -> Bool {
        !isInMemory && fallocate(descriptor, 1, Int(range.lowerBound), Int(range.count)) == 0
    }

    /// Lets the medium begin with what was written there.
    func push(_ range: Range<Int64>) {
        _ = sync_file_range(descriptor, Int(range.lowerBound), Int(range.count), 2)
    }

    /// What was taken beyond the end, and not written.
    func giveBackRoom() {
        var info = stat()
        if fstat(descriptor, &info) == 0 { ftruncate(descriptor, info.st_size) }
    }

    /// There taking room means filling it.
    private var isInMemory: Bool {
        var info = statfs()
        return fstatfs(descriptor, &info) == 0 && info.f_type == 0x0102_1994
    }
}
