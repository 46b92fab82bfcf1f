// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The process at the other end of a Unix socket, as the kernel reports it (unix(7), SO_PEERCRED): of a client, the
/// process that connected; of a service, the process that called `listen`.
package struct PeerCredentials: Sendable {
    package var pid: Int32 = 0
    package var uid: UInt32 = 0
    package var gid: UInt32 = 0

    init() {}

    /// Nil if the descriptor is not a connected Unix socket.
    package init?(of descriptor: Int32) {
        var size = socklen_t(MemoryLayout<PeerCredentials>.size)
        let result = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &self, &size)
        if result != 0 { return nil }
    }
}
