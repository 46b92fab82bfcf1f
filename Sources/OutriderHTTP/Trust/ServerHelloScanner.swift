// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A server's choices in a TLS handshake; sent unencrypted (RFC 5246, RFC 8446 section 4.1.3).
package struct ServerHello: Sendable, Equatable {
    /// Numbers of the TLS registry. In TLS 1.2 a later message names the group of the key exchange.
    package var cipher: UInt16
    package var group: UInt16?

    package init(cipher: UInt16, group: UInt16? = nil) {
        self.cipher = cipher
        self.group = group
    }

    /// "TLS_AES_128_GCM_SHA256"; the number in hexadecimal digits if the table has no name.
    package var cipherName: String {
        TLSNames.ciphers.first { $0.number == cipher }?.name ?? TLSNames.hexadecimal(cipher)
    }

    /// "X25519MLKEM768"; nil if absent from the hello.
    package var groupName: String? {
        group.map { group in TLSNames.groups.first { $0.number == group }?.name ?? TLSNames.hexadecimal(group) }
    }
}

/// Finds the ServerHello at the beginning of a server's bytes. Buffers at most 64 KiB, and nothing after the end.
package struct ServerHelloScanner {
    package enum Outcome: Equatable {
        case more
        case found(ServerHello)
        case unreadable
    }

    private static let mostKept = 64 << 10
    private var kept: [UInt8] = []
    private var isDone = false

    package init() {}

    package mutating func scan(_ bytes: some Collection<UInt8>) -> Outcome {
        guard !isDone else { return .unreadable }
        guard kept.count + bytes.count <= Self.mostKept else { return end(.unreadable) }
        kept += bytes
        guard let messages = handshake() else { return end(.unreadable) }
        var reader = ByteReader(messages)
        while let type = reader.byte() {
            guard let length = reader.number(3), let body = reader.take(length) else { return .more }
            guard type == 2 else { return end(.unreadable) }
            guard let hello = Self.hello(body) else { return end(.unreadable) }
            // a HelloRetryRequest; the real hello follows the client's second hello
            if hello.isRetry { continue }
            return end(.found(hello.value))
        }
        return .more
    }

    private mutating func end(_ outcome: Outcome) -> Outcome {
        isDone = true
        kept = []
        return outcome
    }

    /// The handshake messages of the records so far; nil if there is a record that cannot belong to a handshake.
    private func handshake() -> [UInt8]? {
        var messages: [UInt8] = []
        var reader = ByteReader(kept)
        while let type = reader.byte() {
            guard let version = reader.number(2), let length = reader.number(2) else { break }
            guard version >> 8 == 3, length <= 16 << 10 else { return nil }
            guard let body = reader.take(length) else { break }
            switch type {
            case 22: messages += body
            // change_cipher_spec follows a retry, before the real hello
            case 20: break
            // the encrypted part follows the hello
            default: return messages.isEmpty ? nil : messages
            }
        }
        return messages
    }

    private static func hello(_ body: ArraySlice<UInt8>) -> (value: ServerHello, isRetry: Bool)? {
        var reader = ByteReader(body)
        guard reader.number(2) != nil, let random = reader.take(32), let session = reader.byte(),
            reader.take(Int(session)) != nil, let cipher = reader.number(2), reader.byte() != nil
        else { return nil }
        var hello = ServerHello(cipher: UInt16(truncatingIfNeeded: cipher))
        let isRetry = retry.elementsEqual(random)
        guard let total = reader.number(2), let extensions = reader.take(total) else { return (hello, isRetry) }
        var list = ByteReader(extensions)
        while let type = list.number(2), let length = list.number(2), let body = list.take(length) {
            // key_share
            if type == 51 {
                var share = ByteReader(body)
                hello.group = share.number(2).map { UInt16(truncatingIfNeeded: $0) }
            }
        }
        return (hello, isRetry)
    }

    /// The random value of a HelloRetryRequest: SHA-256 of "HelloRetryRequest".
    private static let retry: [UInt8] = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
        0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
    ]
}

/// Numbers in network order out of bytes; nil behind the end.
private struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func number(_ count: Int) -> Int? {
        guard rest.count >= count else { return nil }
        return take(count)?.reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
