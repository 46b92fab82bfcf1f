// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore

/// Bytes that the kernel takes ahead of sending.
private let mostUnsent = 128 << 10

extension Channel {
    /// Limits the bytes that the kernel takes ahead of sending: the head of another request on the connection does not
    /// wait behind megabytes of a body. Only on the event loop.
    func limitUnsentBytes() {
        // a Unix socket has no such option
        let option = ChannelOptions.Types.SocketOption.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT))
        try? syncOptions?.setOption(option, value: mostUnsent)
    }

    /// Bytes that were written to the channel, and that the other end has not acknowledged. Only on the event loop.
    ///
    /// What the kernel has taken says little on a slow way: a socket takes more only when a third of its buffer is
    /// free.
    var unsentBytes: Int {
        let waiting = (try? syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        let found = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
        var queued: CInt = 0
        // safe: the constant is small
        guard let descriptor = found, ioctl(descriptor, UInt(TIOCOUTQ), &queued) == 0 else { return waiting }
        return waiting &+ Int(queued)  // safe: CInt is narrower
    }
}
