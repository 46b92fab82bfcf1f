// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// `open` of the C library, for libdispatch.
///
/// Once a second, while work waits for its threads, libdispatch opens `/proc/<thread>/stat` of each, and stops the
/// process if an open fails: for want of descriptors, or if `/proc` is not mounted. libdispatch counts an unreadable
/// descriptor as a thread that does not run, so this function returns such a descriptor; at most, another thread
/// starts.
@_cdecl("open")
package func openForLibraries(_ path: UnsafePointer<CChar>, _ flags: CInt, _ mode: UInt32) -> CInt {
    // the kernel ignores the mode without `O_CREAT`
    let file = openat(AT_FDCWD, path, flags, mode)
    guard file < 0, flags == O_RDONLY | O_NONBLOCK, isThreadState(path) else { return file }
    return .max
}

/// Whether the path is `/proc/<number>/stat`.
private func isThreadState(_ path: UnsafePointer<CChar>) -> Bool {
    guard strncmp(path, "/proc/", 6) == 0 else { return false }
    var rest = path + 6
    while isdigit(CInt(rest.pointee)) != 0 { rest += 1 }
    return strcmp(rest, "/stat") == 0
}
