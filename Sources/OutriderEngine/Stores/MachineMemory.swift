// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The memory that the process may use.
enum MachineMemory {
    /// Bytes of the machine or, if less, of the control groups of the process; nil if unknown.
    static var bytes: Int? {
        let limits = GroupMemory.files(of: text(of: "/proc/self/cgroup")).compactMap { GroupMemory.limit(text(of: $0)) }
        let pages = sysconf(CInt(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(CInt(_SC_PAGESIZE)))
        let whole = pages.overflow || pages.partialValue <= 0 ? [] : [pages.partialValue]
        return (whole + limits).min()
    }

    /// The beginning of a file of the kernel; empty if the file cannot be read.
    private static func text(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return "" }
        defer { close(file) }
        return String(unsafeUninitializedCapacity: 16 << 10) { max(0, read(file, $0.baseAddress, $0.count)) }
    }
}
