// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The hosts that a certificate is for, as its subjectAltName lists them.
package struct ServerNames: Sendable {
    /// Names, some with `*` for their first label.
    package var hosts: [String] = []
    /// Addresses of four or sixteen bytes.
    package var addresses: [[UInt8]] = []

    package init() {}

    package var isEmpty: Bool { hosts.isEmpty && addresses.isEmpty }

    /// Whether the names cover a host (RFC 9525 section 6): an address byte by byte, a name without regard to case. A
    /// `*` stands for a whole label with at least two labels behind the star.
    package func cover(_ host: String) -> Bool {
        if let address = IPAddressText.bytes(of: host) { return addresses.contains(address) }
        let host = HostPattern.plain(host).lowercased()
        // other characters may become ASCII in lower case, such as the sign of kelvin
        return hosts.contains { name in name.utf8.allSatisfy { $0 < 0x80 } && Self.matches(name.lowercased(), host) }
    }

    private static func matches(_ pattern: String, _ host: String) -> Bool {
        let pattern = HostPattern.plain(pattern)
        guard pattern.hasPrefix("*.") else { return !host.isEmpty && pattern == host }
        let suffix = pattern.dropFirst()
        guard suffix.dropFirst().contains("."), host.hasSuffix(suffix) else { return false }
        let label = host.dropLast(suffix.count)
        return !label.isEmpty && !label.contains(".")
    }
}
