// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Memory or a file that lives as long as the body of an attempt or of a result.
package protocol BodyHolder: AnyObject, Sendable {}

/// Bytes in a private file, which other payloads may share.
package protocol SpilledPart: BodyHolder {
    /// Bytes.
    var count: Int { get }

    /// Fills the buffer from the offset. Blocks. Throws if the part ends before, or cannot be read.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(HTTPFailure)
}
