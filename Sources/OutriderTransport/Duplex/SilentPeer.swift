// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore

/// When the peer of an upgraded connection is gone: TCP repeats unacknowledged bytes for a quarter of an hour, and its
/// keepalive asks only while no bytes are under way.
enum SilentPeer {
    /// How often to look while bytes are under way.
    static let interval = TimeAmount.seconds(15.0)
    /// Together with the interval as long as keepalive takes.
    private static let milliseconds: UInt32 = 105_000

    /// Whether the peer has acknowledged nothing for long, though bytes or probes were repeated. A peer that does not
    /// read is not gone: the kernel of the peer acknowledges each probe. Only on the event loop.
    static func isGone(_ channel: any Channel) -> Bool {
        let found = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
        var info = tcp_info()
        var size = socklen_t(clamping: MemoryLayout<tcp_info>.size)
        // fails for a Unix socket
        guard let descriptor = found, getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else {
            return false
        }
        // the kernel may not count the acknowledgements in segments with data
        let silence = min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)
        return silence >= milliseconds && (info.tcpi_retransmits > 0 || info.tcpi_probes > 1)
    }
}
