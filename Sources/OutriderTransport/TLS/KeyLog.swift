// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
package import OutriderFiles
import OutriderHTTP

/// Writes the secrets of TLS connections to a file, in the format of `SSLKEYLOGFILE`, so that programs such as Wireshark
/// can decrypt recordings of the traffic.
package final class KeyLog: Sendable {
    private let descriptor: CInt

    /// Opens the file, which the user of the service must own, or makes it; no other user may read it.
    package init(_ path: String) throws(FileFault) {
        descriptor = try CheckedFile.open(path, O_WRONLY | O_CREAT | O_APPEND, .own)
        guard fchmod(descriptor, 0o600) == 0 else {
            let code = errno
            close(descriptor)
            throw .system(code)
        }
    }

    deinit { close(descriptor) }

    /// Writes a line, on another thread: a disk may be slow.
    func write(_ line: ByteBuffer) {
        BlockingThreads.files.run(for: .service, isOwed: true) { [self] in
            var bytes = Array(line.readableBytesView)
            if bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
            // one write, so that lines of several connections never mix; a full disk loses a line of a log
            _ = Glibc.write(descriptor, bytes, bytes.count)
        }
    }
}
