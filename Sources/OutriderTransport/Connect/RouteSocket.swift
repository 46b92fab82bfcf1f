// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Notices changes of links, addresses or routes of this machine (rtnetlink(7)), without details: the messages are not
/// parsed, since some may be lost (ENOBUFS).
package final class RouteSocket: Sendable {
    private let descriptor: CInt
    /// A socket pair: `stop` shuts down its second end, and `wait`, at the first, returns.
    private let stopper: (waiting: CInt, stopping: CInt)

    // From linux/netlink.h and linux/rtnetlink.h, which Swift does not see.
    private static let family: CInt = 16
    private static let links: UInt32 = 0x1
    private static let addresses: UInt32 = 0x10 | 0x100
    private static let routes: UInt32 = 0x40 | 0x400

    /// Nil if the system does not permit the socket.
    package init?() {
        // safe: the constants are small
        let flags = CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(Self.family, CInt(SOCK_RAW.rawValue) | flags, 0)
        guard descriptor >= 0 else { return nil }
        // sockaddr_nl: family, padding, port (the kernel chooses), groups
        var address: (UInt16, UInt16, UInt32, UInt32) = (
            UInt16(clamping: Self.family), 0, 0, Self.links | Self.addresses | Self.routes
        )
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let base = bytes.baseAddress else { return false }
            let size = socklen_t(clamping: bytes.count)
            return bind(descriptor, base.assumingMemoryBound(to: sockaddr.self), size) == 0
        }
        var ends: (CInt, CInt) = (-1, -1)
        let isPaired = withUnsafeMutableBytes(of: &ends) { bytes in
            guard let base = bytes.baseAddress else { return false }
            // safe: as above
            let kind = CInt(SOCK_STREAM.rawValue) | flags
            return socketpair(AF_UNIX, kind, 0, base.assumingMemoryBound(to: CInt.self)) == 0
        }
        guard isBound, isPaired else {
            close(descriptor)
            if isPaired {
                close(ends.0)
                close(ends.1)
            }
            return nil
        }
        self.descriptor = descriptor
        stopper = ends
    }

    deinit {
        close(descriptor)
        close(stopper.waiting)
        close(stopper.stopping)
    }

    /// Blocks until a change; false after `stop`, or if changes cannot be noticed any more.
    package func wait() -> Bool {
        let wanted = Int16(clamping: POLLIN)
        while true {
            var waited = [
                pollfd(fd: descriptor, events: wanted, revents: 0),
                pollfd(fd: stopper.waiting, events: wanted, revents: 0),
            ]
            let count = poll(&waited, 2, -1)
            if count < 0 && errno != EINTR { return false }
            if waited[1].revents != 0 { return false }
            if hasRung() { return true }
            // a broken socket would be ready for ever
            if waited[0].revents & ~wanted != 0 { return false }
        }
    }

    /// Whether there was a change since the last call. Does not block.
    package func hasRung() -> Bool {
        var hasRung = false
        // the rest of a message is cut off
        var start: UInt64 = 0
        // a storm of messages must not block the caller for ever
        for _ in 0..<256 {
            let count = recv(descriptor, &start, 8, CInt(clamping: MSG_DONTWAIT))
            guard count > 0 || (count < 0 && errno == ENOBUFS) else { break }
            hasRung = true
        }
        return hasRung
    }

    /// Lets `wait` return false.
    package func stop() { shutdown(stopper.stopping, CInt(SHUT_RDWR)) }
}
