// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// What a service does that was started by `get-socket`, so that nothing ties it to where it was started.
enum Detachment {
    /// Leaves the directory, and closes what was inherited beyond standard input, output and error.
    static func detach(keeping kept: Int32?) {
        _ = chdir("/")
        guard let directory = opendir("/proc/self/fd") else { return }
        let own = dirfd(directory)
        var inherited: [Int32] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let file = Int32(name), file > 2, file != own, file != kept { inherited.append(file) }
        }
        closedir(directory)
        for file in inherited { close(file) }
    }

    /// Whoever waits may connect now.
    static func sayReady(_ file: Int32) {
        var byte = UInt8(ascii: "\n")
        _ = write(file, &byte, 1)
        close(file)
    }
}
