// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

/// Disk space of a partial file. All calls block, but seldom for long.
extension PartialFile {
    /// Bytes to reserve at once: enough for contiguous storage, and not the whole length that a server merely
    /// announces.
    static let reserveBytes: Int64 = 256 << 20

    /// Reserves disk space beyond the end of the file, for contiguous storage; the size stays. False if not available;
    /// then need not be called again: the write reports the reason.
    func reserve(_ range: Range<Int64>) -> Bool {
        !isInMemory && fallocate(descriptor, 1, Int(range.lowerBound), Int(range.count)) == 0
    }

    /// Starts writing a range to disk.
    func push(_ range: Range<Int64>) {
        _ = sync_file_range(descriptor, Int(range.lowerBound), Int(range.count), 2)
    }

    /// Releases the space reserved beyond the end.
    func giveBackRoom() {
        var info = stat()
        if fstat(descriptor, &info) == 0 { ftruncate(descriptor, info.st_size) }
    }

    /// Whether the file is on tmpfs, where reserved space takes memory.
    private var isInMemory: Bool {
        var info = statfs()
        return fstatfs(descriptor, &info) == 0 && info.f_type == 0x0102_1994
    }
}
