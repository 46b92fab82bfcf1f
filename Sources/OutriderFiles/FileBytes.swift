// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Reads and writes bytes of an open file with as many calls as needed: a signal, or a call that moves only a part, is no
/// failure. A failure leaves its reason in `errno`.
package enum FileBytes {
    /// Writes all bytes: from the offset on, or where the file stands.
    package static func write(_ bytes: [UInt8], to file: CInt, at offset: Int? = nil) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                let start = raw.baseAddress.map { $0 + written }
                guard let offset else { return Glibc.write(file, start, raw.count - written) }
                return pwrite(file, start, raw.count - written, off_t(offset + written))
            }
            if count < 0, errno == EINTR { continue }
            if count == 0 { errno = ENOSPC }
            guard count > 0 else { return false }
            written += count
        }
        return true
    }

    /// Fills the buffer from the offset on, or from where the file stands. Returns the number of bytes, which is smaller
    /// only at the end of the file; nil if the file cannot be read.
    package static func read(
        _ file: CInt, at offset: Int? = nil, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var filled = 0
        while filled < buffer.count {
            let start = buffer.baseAddress.map { $0 + filled }
            let left = buffer.count - filled
            let count = offset.map { pread(file, start, left, off_t($0 + filled)) } ?? Glibc.read(file, start, left)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// The same for at most so many bytes.
    package static func read(_ file: CInt, at offset: Int? = nil, most count: Int) -> [UInt8]? {
        var fault: CInt = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let found = read(file, at: offset, into: UnsafeMutableRawBufferPointer(buffer))
            if found == nil { fault = errno }
            filled = found ?? 0
        }
        errno = fault
        return fault == 0 ? bytes : nil
    }
}
