// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Compresses a body piece by piece. Not thread-safe: the owners make sure that calls do not overlap.
package protocol CompressionStream: AnyObject, Sendable {
    /// The output for these bytes, perhaps empty.
    func compress(_ input: ByteBuffer) throws(HTTPFailure) -> ByteBuffer

    /// The rest of the output; to be called once.
    func finish() throws(HTTPFailure) -> ByteBuffer
}
