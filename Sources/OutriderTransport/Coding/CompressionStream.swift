// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Compresses a body piece by piece. One call at a time, which is what its owners see to.
package protocol CompressionStream: AnyObject, Sendable {
    /// What comes out for these bytes, perhaps nothing yet.
    func compress(_ input: ByteBuffer) throws(HTTPFailure) -> ByteBuffer

    /// The rest, once.
    func finish() throws(HTTPFailure) -> ByteBuffer
}

extension BodyCoding {
    /// A stream at the beginning of a body.
    package func makeStream() -> any CompressionStream {
        switch self {
        case .deflate, .gzip: DeflateStream(self)
        case .br: BrotliCompression()
        case .zstd: ZstdCompression()
        }
    }
}
