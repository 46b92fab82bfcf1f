// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto

/// Seals the files of a credential: AES-256-GCM, with a key per credential and a fresh nonce each time.
///
/// The public part stands before the sealed part and is authenticated with it: the format, the kind of file, the
/// generation, and a hash of the identity. So a record that was changed, cut, moved to another credential or renamed
/// does not open.
struct Seal {
    enum Kind: UInt8 { case record = 1, intent, response }

    struct Opened {
        var generation: UInt64
        var identity: [UInt8]
        var bytes: [UInt8]
    }

    private static let magic = Array("ORK1".utf8)
    private static let headBytes = 4 + 1 + 8 + 32
    private static let nonceBytes = 12
    private static let tagBytes = 16

    private let key: SymmetricKey
    private let place: [UInt8]

    /// - Parameter place: the name of the credential's directory.
    init(key: SymmetricKey, place: String) {
        self.place = Array(place.utf8)
        self.key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("outrider credential 1 ".utf8) + Array(place.utf8), outputByteCount: 32)
    }

    static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// Nil if the library fails: then nothing is written.
    func close(_ bytes: [UInt8], _ kind: Kind, generation: UInt64, identity: [UInt8]) -> [UInt8]? {
        var head = Self.magic + [kind.rawValue]
        for shift in stride(from: 56, through: 0, by: -8) {
            head.append(UInt8(truncatingIfNeeded: generation >> shift))
        }
        head += identity
        guard let box = try? AES.GCM.seal(bytes, using: key, authenticating: head + place) else { return nil }
        return head + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// Nil for bytes that were not sealed with this key, kind and directory.
    func open(_ sealed: some Collection<UInt8>, _ kind: Kind) -> Opened? {
        let sealed = Array(sealed)
        let least = Self.headBytes + Self.nonceBytes + Self.tagBytes
        guard sealed.count >= least, sealed.starts(with: Self.magic + [kind.rawValue]) else { return nil }
        let head = Array(sealed[..<Self.headBytes])
        let nonceEnd = Self.headBytes + Self.nonceBytes
        guard let nonce = try? AES.GCM.Nonce(data: sealed[Self.headBytes..<nonceEnd]),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: sealed[nonceEnd..<(sealed.count - Self.tagBytes)],
                tag: sealed[(sealed.count - Self.tagBytes)...]),
            let bytes = try? AES.GCM.open(box, using: key, authenticating: head + place)
        else { return nil }
        return Opened(
            generation: head[5..<13].reduce(0) { $0 << 8 | UInt64($1) }, identity: Array(head[13...]),
            bytes: Array(bytes))
    }
}
