// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// A client's byte stream, as its connection sees it. All members are used on the connection's event loop only.
protocol Wire: AnyObject, Sendable {
    /// A socket can be half-closed, and some clients then give up if no bytes come (protocol section 3.6).
    var isSocket: Bool { get }

    /// Whether more may be written now. The connection is told when this becomes true.
    var isWritable: Bool { get }

    /// Written bytes that are not delivered yet.
    var unwritten: Int { get }

    func write(_ buffer: ByteBuffer)

    /// Gives buffers to the kernel without a copy in between, unless earlier bytes wait. Returns the number of bytes that
    /// the kernel took.
    func giveToKernel(_ buffers: [UnsafeRawBufferPointer]) -> Int

    func flush()
    func setReading(_ on: Bool)

    /// Enlarges the kernel's send buffer, for raw bytes or a long message. Repeated calls have no effect.
    func expectMuch()

    /// Ends the output as soon as all written bytes are delivered; reading goes on.
    func endOutput()

    /// Closes as soon as all written bytes are delivered.
    func finish()

    /// Closes at once.
    func abort()
}
