// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The addresses to which an attempt may connect. Part of the key of a pooled connection, so that a connection allowed
/// by one policy is never used under another.
///
/// The policy judges the address of the connection after the lookup, since a name may resolve to any address. A proxy
/// looks up names itself, so only hosts written as addresses, and names of this machine, can be judged.
package enum AddressPolicy: Sendable, Hashable {
    /// All addresses.
    case any
    /// All but the addresses of cloud metadata services, which issue credentials: after a redirect to another origin.
    case notMetadata
    /// Only addresses that are routed in the public internet.
    case publicOnly
    /// Only addresses of this version of IP.
    case ipv4, ipv6
    /// The same after a redirect to another origin.
    case ipv4NotMetadata, ipv6NotMetadata

    /// - Parameter address: 4 or 16 bytes in the order of the network.
    package func permits(address: [UInt8]) -> Bool {
        switch self {
        case .any: true
        case .notMetadata: AddressKind(address) != .metadata
        case .publicOnly: AddressKind(address) == .global
        case .ipv4, .ipv6: hasVersion(of: address)
        case .ipv4NotMetadata, .ipv6NotMetadata: hasVersion(of: address) && AddressKind(address) != .metadata
        }
    }

    /// Whether the address is of a permitted version of IP. A mapped address is IPv4 on the wire.
    package func hasVersion(of address: [UInt8]) -> Bool {
        guard let length else { return true }
        return (AddressKind.isMapped(address) ? 4 : address.count) == length
    }

    /// The length of the addresses of the only version of IP; nil for both versions.
    package var length: Int? {
        switch self {
        case .any, .notMetadata, .publicOnly: nil
        case .ipv4, .ipv4NotMetadata: 4
        case .ipv6, .ipv6NotMetadata: 16
        }
    }

    /// The policy for a place that a server chose.
    package var guarded: AddressPolicy {
        switch self {
        case .any: .notMetadata
        case .ipv4: .ipv4NotMetadata
        case .ipv6: .ipv6NotMetadata
        case .notMetadata, .publicOnly, .ipv4NotMetadata, .ipv6NotMetadata: self
        }
    }

    /// Whether the host of a URL is permitted, as far as the text tells; Unix sockets belong to this machine.
    package func permits(hostOf url: HTTPURL) -> Bool {
        if self == .any { return true }
        if let bytes = IPAddressText.bytes(of: url.hostName) { return permits(address: bytes) }
        return self != .publicOnly || !url.isLocal
    }
}

extension AddressPolicy {
    /// The failure of a host without a permitted address.
    ///
    /// - Parameter addresses: what the name resolved to; none for a host that its text refuses.
    package func refusal(of url: HTTPURL, _ addresses: [String]) -> HTTPFailure {
        let found = addresses.prefix(4).joined(separator: ", ")
        let place = found.isEmpty || found == url.hostName ? url.host : "\(url.host) (\(found))"
        let all = (addresses.isEmpty ? [url.hostName] : addresses).compactMap(IPAddressText.bytes)
        if let length, !all.contains(where: hasVersion) {
            let version = length == 4 ? "4" : "6"
            return HTTPFailure(
                .addressRefused,
                "\(place) has no IPv\(version) address, and the request connects only to those (addresses: ipv\(version))",
                phase: .connect)
        }
        if self == .publicOnly {
            return HTTPFailure(
                .addressRefused,
                "\(place) is not in the public internet, and the request connects only there (addresses: public)",
                phase: .connect)
        }
        return HTTPFailure(
            .redirectRefused, "the redirect leads to \(place), where clouds keep the secrets of machines",
            phase: .connect)
    }
}

/// The kind of an address by the registries of special addresses (RFC 6890 and its updates).
package enum AddressKind: Sendable, Hashable {
    case global
    /// An address of this machine.
    case loopback
    /// The link-local ranges, and further addresses where clouds serve the credentials of a machine.
    case metadata
    /// Private, reserved, documentation, multicast.
    case special

    /// - Parameter address: 4 or 16 bytes. An IPv6 address that contains an IPv4 address is judged by the latter:
    ///   mapped, compatible, translated (RFC 6052, RFC 8215), 6to4, Teredo and ISATAP.
    package init(_ address: [UInt8]) {
        switch address.count {
        case 4: self = Self.version4(address)
        case 16: self = Self.version6(address)
        default: self = .special
        }
    }

    /// Whether an IPv6 address is the form of an IPv4 address for sockets of both versions (RFC 4291 section 2.5.5.2).
    static func isMapped(_ address: [UInt8]) -> Bool { address.count == 16 && has(address, mapped, 96) }

    private static func version4(_ address: [UInt8]) -> AddressKind {
        let metadata: [[UInt8]] = [[100, 100, 100, 200], [192, 0, 0, 192]]
        if has(address, [169, 254], 16) || metadata.contains(address) { return .metadata }
        if address[0] == 127 { return .loopback }
        return special4.contains { has(address, $0.prefix, $0.bits) } ? .special : .global
    }

    private static func version6(_ address: [UInt8]) -> AddressKind {
        if address == loopback6 { return .loopback }
        if let inner = embedded(address) {
            let kind = version4(inner)
            if kind != .global { return kind }
            // mapped addresses are IPv4 on the wire; networks without IPv4 reach public IPv4 addresses through
            // 64:ff9b::/96
            if isMapped(address) || has(address, [0, 0x64, 0xFF, 0x9B], 96) { return .global }
        }
        if metadata6.contains(where: { has(address, $0.prefix, $0.bits) }) { return .metadata }
        return special6.contains { has(address, $0.prefix, $0.bits) } ? .special : .global
    }

    /// The IPv4 address within an IPv6 address.
    private static func embedded(_ address: [UInt8]) -> [UInt8]? {
        let last = Array(address[12...])
        if has(address, [0x20, 0x02], 16) { return Array(address[2..<6]) }
        // Teredo inverts the address (RFC 4380 section 4)
        if has(address, [0x20, 0x01, 0, 0], 32) { return last.map { ~$0 } }
        let translated: [(prefix: [UInt8], bits: Int)] = [
            (mapped, 96), ([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0], 96), ([0, 0x64, 0xFF, 0x9B], 96),
            ([0, 0x64, 0xFF, 0x9B, 0, 1], 48),
        ]
        if translated.contains(where: { has(address, $0.prefix, $0.bits) }) { return last }
        if has(address, [], 96), address != unspecified6 { return last }
        // ISATAP (RFC 5214 section 6.1)
        let isISATAP = address[8] & 0xFD == 0 && address[9...11].elementsEqual([0, 0x5E, 0xFE])
        return isISATAP ? last : nil
    }

    /// Whether the first bits equal the prefix; missing bytes of the prefix are zero.
    private static func has(_ address: [UInt8], _ prefix: [UInt8], _ bits: Int) -> Bool {
        for index in 0..<((bits + 7) / 8) {
            let wanted = index < prefix.count ? prefix[index] : 0
            let rest = bits - index * 8
            let mask: UInt8 = rest >= 8 ? 0xFF : ~(0xFF >> UInt8(clamping: rest))
            if (address[index] ^ wanted) & mask != 0 { return false }
        }
        return true
    }

    private static let unspecified6 = [UInt8](repeating: 0, count: 16)
    private static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    private static let special4: [(prefix: [UInt8], bits: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([172, 16], 12), ([192, 0, 0], 24), ([192, 0, 2], 24),
        ([192, 88, 99], 24),
        ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24), ([203, 0, 113], 24), ([224], 3),
    ]
    private static let metadata6: [(prefix: [UInt8], bits: Int)] = [
        ([0xFE, 0x80], 10), ([0xFD, 0, 0x0E, 0xC2], 32), ([0xFD, 0x20, 0, 0xCE], 32),
    ]
    /// Nothing outside 2000::/3 is routed.
    private static let special6: [(prefix: [UInt8], bits: Int)] = [
        ([0], 3), ([0x40], 2), ([0x80], 1), ([0x20, 0x01], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF], 20),
    ]
}

extension HTTPURL {
    /// Whether the URL belongs to this machine: loopback addresses, names for them (RFC 6761 section 6.3), Unix
    /// sockets.
    package var isLocal: Bool {
        let name = hostName
        return socketPath != nil || name == "localhost" || name.hasSuffix(".localhost") || name == "::1"
            || (name.hasPrefix("127.") && IPAddressText.isPlain(Array(name.utf8)[...]))
    }
}
