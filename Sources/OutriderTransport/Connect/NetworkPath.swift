// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
package import OutriderHTTP

/// The system's knowledge of a route, without sending a packet.
package enum NetworkPath {
    /// For a numeric host or localhost: whether a route leads there. For a name: whether there is any network at all.
    package static func leads(to url: HTTPURL) -> Bool {
        guard let known = try? url.knownAddresses() else { return isAvailable }
        return known.contains(where: hasRoute)
    }

    /// The same over an interface that the rule permits.
    package static func leads(to url: HTTPURL, over rule: InterfaceRule) -> Bool {
        rule.permitsAll ? leads(to: url) : rule.permits(sample(to: url))
    }

    /// Whether an interface other than the loopback is up and has an address that reaches beyond its own link.
    static var isAvailable: Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        // a failed call does not make the machine offline
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            if isWayOut(entry) { return true }
            next = entry.ifa_next
        }
        return false
    }

    private static func isWayOut(_ entry: ifaddrs) -> Bool {
        let wanted = UInt32(clamping: IFF_UP | IFF_RUNNING), loopback = UInt32(clamping: IFF_LOOPBACK)
        guard entry.ifa_flags & wanted == wanted, entry.ifa_flags & loopback == 0, let address = entry.ifa_addr else {
            return false
        }
        switch CInt(address.pointee.sa_family) {
        case AF_INET: return true
        case AF_INET6:
            // its sockaddr_in6 has 16 bits of family, 16 of port and 32 of flow before the address
            let raw = UnsafeRawBufferPointer(start: address, count: MemoryLayout<sockaddr_in6>.size)
            // fe80::/10 (RFC 4291 section 2.5.6)
            return !(raw[8] == 0xFE && raw[9] & 0xC0 == 0x80)
        default: return false
        }
    }

    /// Connecting a datagram socket looks up the route, and sends nothing.
    private static func hasRoute(to address: SocketAddress) -> Bool {
        let family: CInt
        switch address {
        case .v4: family = AF_INET
        case .v6: family = AF_INET6
        case .unixDomainSocket: return true
        }
        // safe: the constants are small
        let descriptor = socket(family, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return address.withSockAddr { pointer, size in
            connect(descriptor, pointer, socklen_t(clamping: size)) == 0
        }
    }
}
