// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// `open` of the C library, for libdispatch.
///
/// Once a second, while work waits for its threads, libdispatch opens `/proc/<thread>/stat` of each, and stops the process
/// if one cannot be opened: for want of descriptors, or where `/proc` is not mounted. A descriptor that cannot be read is
/// taken for a thread that does not run, so libdispatch gets such a descriptor, and starts another thread at most.
@_cdecl("open")
package func openForLibraries(_ path: UnsafePointer<CChar>, _ flags: CInt, _ mode: UInt32) -> CInt {
    // a mode that was not given is not looked at
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
