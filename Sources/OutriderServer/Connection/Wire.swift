// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// The bytes of one client, as its connection sees them. All members are used on the connection's event loop only.
protocol Wire: AnyObject, Sendable {
    /// A socket can be half closed, and its client may be one that gives up when nothing comes (protocol section 3.6).
    var isSocket: Bool { get }

    /// Whether more may be written now. When that changes to true the connection is told.
    var isWritable: Bool { get }

    /// How much of what was written has not been delivered.
    var unwritten: Int { get }

    func write(_ buffer: ByteBuffer)
    func flush()
    func setReading(_ on: Bool)

    /// More will flow than messages: the kernel may hold more of it.
    func expectMuch()

    /// Says that nothing more will come, as soon as all that was written is delivered; reading goes on.
    func endOutput()

    /// Closes as soon as all that was written is delivered.
    func finish()

    /// Closes at once.
    func abort()
}
