// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import Testing

/// A whole file.
func contents(of path: String) throws -> ByteBuffer {
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var all = ByteBuffer()
    while true {
        let got = all.writeWithUnsafeMutableBytes(minimumWritableBytes: 1 << 20) {
            max(0, read(descriptor, $0.baseAddress, $0.count))
        }
        if got == 0 { return all }
    }
}

/// How much memory this process has in use, in bytes.
func residentBytes() throws -> Int {
    let pages = try String(buffer: contents(of: "/proc/self/statm")).split(separator: " ")
    return try #require(Int(pages[1])) * Int(sysconf(Int32(_SC_PAGESIZE)))
}
