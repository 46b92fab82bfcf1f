// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Compresses a body piece by piece. Not thread-safe: the owners make sure that calls do not overlap.
package protocol CompressionStream: AnyObject, Sendable {
    /// The name of the library.
    static var library: String { get }
    /// Whether the output is complete.
    var isDone: Bool { get set }

    /// Appends output for some of the input. Returns the bytes that were taken, and whether the library waits for more of
    /// them; nil if the library fails.
    ///
    /// - Parameter isLast: whether no input follows.
    func step(_ input: ByteBuffer, isLast: Bool, into output: inout ByteBuffer) -> (taken: Int, isDrained: Bool)?
}

extension CompressionStream {
    /// The output for these bytes, perhaps empty.
    package func compress(_ input: ByteBuffer) throws(HTTPFailure) -> ByteBuffer { try run(input, isLast: false) }

    /// The rest of the output; nothing if called again.
    package func finish() throws(HTTPFailure) -> ByteBuffer {
        if isDone { return ByteBuffer() }
        isDone = true
        return try run(ByteBuffer(), isLast: true)
    }

    private func run(_ input: ByteBuffer, isLast: Bool) throws(HTTPFailure) -> ByteBuffer {
        var input = input
        var output = ByteBuffer()
        while let (taken, isDrained) = step(input, isLast: isLast, into: &output) {
            input.moveReaderIndex(forwardBy: taken)
            if isDrained, input.readableBytes == 0 { return output }
        }
        throw HTTPFailure(.bodyUnreadable, "\(Self.library) could not compress the body", phase: .request)
    }
}
