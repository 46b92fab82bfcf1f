// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Names of the TLS registry, and their counterparts in OpenSSL and curl.
package enum TLSNames {
    package struct Cipher: Sendable {
        package let number: UInt16
        package let name: String
        /// Of OpenSSL.
        package let shortName: String
        /// Whether the suite has forward secrecy and AEAD.
        package let isModern: Bool
    }

    package static let ciphers: [Cipher] = [
        Cipher(number: 0x1301, name: "TLS_AES_128_GCM_SHA256", shortName: "TLS_AES_128_GCM_SHA256", isModern: true),
        Cipher(number: 0x1302, name: "TLS_AES_256_GCM_SHA384", shortName: "TLS_AES_256_GCM_SHA384", isModern: true),
        Cipher(
            number: 0x1303, name: "TLS_CHACHA20_POLY1305_SHA256", shortName: "TLS_CHACHA20_POLY1305_SHA256",
            isModern: true),
        Cipher(
            number: 0xC02B, name: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
            shortName: "ECDHE-ECDSA-AES128-GCM-SHA256", isModern: true),
        Cipher(
            number: 0xC02F, name: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", shortName: "ECDHE-RSA-AES128-GCM-SHA256",
            isModern: true),
        Cipher(
            number: 0xC02C, name: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            shortName: "ECDHE-ECDSA-AES256-GCM-SHA384", isModern: true),
        Cipher(
            number: 0xC030, name: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", shortName: "ECDHE-RSA-AES256-GCM-SHA384",
            isModern: true),
        Cipher(
            number: 0xCCA9, name: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            shortName: "ECDHE-ECDSA-CHACHA20-POLY1305", isModern: true),
        Cipher(
            number: 0xCCA8, name: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
            shortName: "ECDHE-RSA-CHACHA20-POLY1305", isModern: true),
        Cipher(
            number: 0xC009, name: "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", shortName: "ECDHE-ECDSA-AES128-SHA",
            isModern: false),
        Cipher(
            number: 0xC00A, name: "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", shortName: "ECDHE-ECDSA-AES256-SHA",
            isModern: false),
        Cipher(
            number: 0xC013, name: "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", shortName: "ECDHE-RSA-AES128-SHA",
            isModern: false),
        Cipher(
            number: 0xC014, name: "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", shortName: "ECDHE-RSA-AES256-SHA",
            isModern: false),
        Cipher(number: 0x9C, name: "TLS_RSA_WITH_AES_128_GCM_SHA256", shortName: "AES128-GCM-SHA256", isModern: false),
        Cipher(number: 0x9D, name: "TLS_RSA_WITH_AES_256_GCM_SHA384", shortName: "AES256-GCM-SHA384", isModern: false),
        Cipher(number: 0x2F, name: "TLS_RSA_WITH_AES_128_CBC_SHA", shortName: "AES128-SHA", isModern: false),
        Cipher(number: 0x35, name: "TLS_RSA_WITH_AES_256_CBC_SHA", shortName: "AES256-SHA", isModern: false),
    ]

    package static let groups: [(number: UInt16, name: String)] = [
        (0x11EC, "X25519MLKEM768"), (0x1D, "x25519"), (0x17, "secp256r1"), (0x18, "secp384r1"), (0x19, "secp521r1"),
    ]

    /// Other names for groups, as OpenSSL has them.
    private static let aliases = [
        "p-256": "secp256r1", "p-384": "secp384r1", "p-521": "secp521r1", "prime256v1": "secp256r1",
    ]

    /// By either name, without regard to case; nil for an unknown suite.
    package static func cipher(_ name: String) -> UInt16? {
        let name = name.lowercased()
        return ciphers.first { $0.name.lowercased() == name || $0.shortName.lowercased() == name }?.number
    }

    /// Suites of TLS 1.3, which cannot be switched off.
    package static func isOfTLS13(_ cipher: UInt16) -> Bool { cipher >> 8 == 0x13 }

    package static func group(_ name: String) -> UInt16? {
        let name = name.lowercased()
        let plain = aliases[name] ?? name
        return groups.first { $0.name.lowercased() == plain }?.number
    }

    static func hexadecimal(_ number: UInt16) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
