// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
package import OutriderHTTP

/// Samples the route to a host, and the interfaces. Sends no packet.
extension NetworkPath {
    /// The route to a URL; without a URL, or for a host name that must be looked up, any route out of this machine.
    package static func sample(to url: HTTPURL?) -> PathSample {
        let entries = interfaceAddresses()
        guard let url, let known = try? url.knownAddresses() else { return general(entries) }
        var sample = PathSample(.unreachable)
        for address in known {
            guard let local = localAddress(towards: address) else {
                if address.protocol == .unix { sample.status = .reachable }
                continue
            }
            let bytes = local.networkBytes
            let entry = entries?.first { $0.bytes == bytes }
            // the kernel keeps the routes of an interface whose cable is unplugged; an own address needs no cable
            if entry?.isRunning == false, bytes != address.networkBytes { continue }
            sample.status = .reachable
            if case .v4 = address { sample.ipv4 = true } else { sample.ipv6 = true }
            guard sample.local == nil else { continue }
            sample.local = local.ipAddress
            sample.interface = entry?.interface
        }
        return sample
    }

    /// The local addresses of this machine, 4 or 16 bytes each; nil if unknown.
    static func localAddresses() -> Set<[UInt8]>? { interfaceAddresses().map { Set($0.map(\.bytes)) } }

    /// Whether a socket of this machine may have the address, though no interface has the address; true if unknown.
    static func isOwn(_ bytes: [UInt8]) -> Bool {
        // with `ip_nonlocal_bind` (ip(7)), a socket may have any address, even an address of documentation (RFC 5737,
        // RFC 3849)
        let foreign: [UInt8] =
            bytes.count == 4 ? [192, 0, 2, 1] : [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 12)
        return canBind(bytes) ?? true && canBind(foreign) != true
    }

    /// Nil if unknown.
    private static func canBind(_ bytes: [UInt8]) -> Bool? {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0) else { return nil }
        // safe: the constants are small
        let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(bytes.count == 4 ? AF_INET : AF_INET6, kind, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return address.withSockAddr { pointer, size in bind(descriptor, pointer, socklen_t(clamping: size)) == 0 }
    }

    /// Whether this machine has an address for connections to the other, so that only a port is missing.
    static func hasAddress(towards other: SocketAddress) -> Bool {
        guard let bytes = other.networkBytes, let own = localAddresses() else { return true }
        if other.outwardBytes == nil { return bytes.count == 4 || own.contains(bytes) }
        return own.contains { $0.count == bytes.count && !SocketAddress.isLoopback($0) }
    }

    /// Whether there is any route out of this machine. A failed call does not make the machine offline.
    static var isAvailable: Bool { interfaceAddresses().map { !waysOut($0, wayOut).isEmpty } ?? true }

    /// The addresses that reach beyond this machine. A bridge without a device leads to the containers and virtual
    /// machines of this machine alone, unless it has the default route.
    private static func waysOut(_ entries: [InterfaceAddress], _ wayOut: [[UInt8]?]) -> [InterfaceAddress] {
        let names = Set(entries.filter { wayOut.contains($0.bytes) }.map(\.name))
        return entries.filter { $0.isWayOut && (names.contains($0.name) || !InterfaceKind.isInner($0.name)) }
    }

    /// Any route out: the interface of the default route goes first.
    private static func general(_ entries: [InterfaceAddress]?) -> PathSample {
        let wayOut = wayOut
        let ways = waysOut(entries ?? [], wayOut)
        guard !ways.isEmpty else { return PathSample(entries?.isEmpty == false ? .unreachable : .unknown) }
        let local = wayOut.lazy.compactMap { $0 }.first
        let first = ways.first { $0.bytes == local } ?? ways.first
        return PathSample(
            .reachable, interface: first?.interface, ipv4: ways.contains { $0.bytes.count == 4 },
            ipv6: ways.contains { $0.bytes.count == 16 }, local: first.flatMap { $0.text })
    }

    /// Interfaces, local addresses and the way out.
    package static func state() -> NetworkState {
        NetworkState(addresses: Set(interfaceAddresses() ?? []), wayOut: wayOut)
    }

    /// The local addresses of connections over the default route, for IPv4 and IPv6.
    private static var wayOut: [[UInt8]?] { far.map { localAddress(towards: $0)?.networkBytes } }

    /// Documentation addresses (RFC 5737, RFC 3849), which the default route leads to; connecting sends nothing.
    private static var far: [SocketAddress] {
        ["192.0.2.1", "2001:db8::1"].compactMap { try? SocketAddress(ipAddress: $0, port: 9) }
    }

    fileprivate struct InterfaceAddress: Hashable {
        var name: String
        var flags: UInt32
        var bytes: [UInt8]

        var isLoopback: Bool { flags & UInt32(clamping: IFF_LOOPBACK) != 0 }

        /// Whether the interface is up, and has a carrier.
        var isRunning: Bool {
            let wanted = UInt32(clamping: IFF_UP | IFF_RUNNING)
            return flags & wanted == wanted
        }

        /// Whether the interface is running and the address reaches beyond its own link.
        var isWayOut: Bool {
            let isOfLink = bytes.count == 16 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
            return isRunning && !isLoopback && !isOfLink
        }

        var interface: NetworkInterface {
            NetworkInterface(name: name, kind: InterfaceKind.of(name, flags: flags))
        }

        var text: String? { (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0))?.ipAddress }
    }

    private static func interfaceAddresses() -> [InterfaceAddress]? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var found: [InterfaceAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr else { continue }
            let (offset, count): (Int, Int)
            switch CInt(address.pointee.sa_family) {
            // a sockaddr_in has 16 bits of family and 16 of port before the address
            case AF_INET: (offset, count) = (4, 4)
            // a sockaddr_in6 32 bits of flow more
            case AF_INET6: (offset, count) = (8, 16)
            default: continue
            }
            let raw = UnsafeRawBufferPointer(start: address, count: offset + count)
            let name = String(cString: entry.ifa_name)
            found.append(InterfaceAddress(name: name, flags: entry.ifa_flags, bytes: Array(raw[offset...])))
        }
        return found
    }

    /// The local address of a connection to `address`; nil without a route. Sends nothing.
    static func localAddress(towards address: SocketAddress) -> SocketAddress? {
        let family: CInt
        switch address {
        case .v4: family = AF_INET
        case .v6: family = AF_INET6
        case .unixDomainSocket: return nil
        }
        // safe: the constants are small
        let descriptor = socket(family, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let isRouted = address.withSockAddr { pointer, size in
            connect(descriptor, pointer, socklen_t(clamping: size)) == 0
        }
        guard isRouted else { return nil }
        var storage = sockaddr_storage()
        var size = socklen_t(clamping: MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutableBytes(of: &storage) { bytes in
            guard let base = bytes.baseAddress else { return false }
            return getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &size) == 0
        }
        guard isKnown else { return nil }
        return withUnsafeBytes(of: storage) { bytes in
            family == AF_INET
                ? SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self))
                : SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self))
        }
    }
}

/// The network of this machine at a moment, to be compared with a later one.
package struct NetworkState: Sendable, Equatable {
    fileprivate var addresses: Set<NetworkPath.InterfaceAddress> = []
    /// The local addresses of connections that leave this machine, for IPv4 and IPv6.
    fileprivate var wayOut: [[UInt8]?] = []

    package init() {}

    fileprivate init(addresses: Set<NetworkPath.InterfaceAddress>, wayOut: [[UInt8]?]) {
        self.addresses = addresses
        self.wayOut = wayOut
    }
}

/// The kind of an interface, from sysfs.
enum InterfaceKind {
    static func of(_ name: String, flags: UInt32) -> NetworkInterface.Kind {
        if flags & UInt32(clamping: IFF_LOOPBACK) != 0 { return .loopback }
        let folder = "/sys/class/net/\(name)/"
        guard !name.contains("/"), exists(folder) else { return .other }
        if exists(folder + "wireless") || exists(folder + "phy80211") { return .wifi }
        if text(folder + "uevent").contains("DEVTYPE=wwan") { return .cellular }
        if exists(folder + "tun_flags") || flags & UInt32(clamping: IFF_POINTOPOINT) != 0 { return .tunnel }
        // ARPHRD_ETHER, from linux/if_arp.h
        return text(folder + "type").hasPrefix("1\n") ? .ethernet : .other
    }

    /// Whether the interface is a bridge, and none of its ports has a device; a port may be a VLAN over several devices.
    static func isInner(_ name: String, in folder: String = "/sys/class/net") -> Bool {
        let own = "\(folder)/\(name)/"
        guard exists(own + "bridge") else { return false }
        return !["lower_*/", "lower_*/lower_*/", "lower_*/lower_*/lower_*/"].contains { matches(own + $0 + "device") }
    }

    private static func matches(_ pattern: String) -> Bool {
        var found = glob_t()
        defer { globfree(&found) }
        return glob(pattern, 0, nil, &found) == 0
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The content of a short kernel file; empty if unreadable.
    private static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
    }
}
