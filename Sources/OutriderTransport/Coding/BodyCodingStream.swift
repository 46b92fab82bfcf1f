// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

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
