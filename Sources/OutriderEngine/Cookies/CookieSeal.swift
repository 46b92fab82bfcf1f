// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import OutriderHTTP

/// Seals the values of cookies in a jar: AES-256-GCM, with all other columns of the row as associated data, so that a
/// value that was moved to another cookie does not open.
struct CookieSeal {
    private static let mark = Array("outrider cookies 1".utf8)
    private static let nonceBytes = 12
    private static let tagBytes = 16

    private let key: SymmetricKey

    /// - Parameter name: of the jar: each has a key of its own.
    init(_ bytes: [UInt8], jar name: String) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Array("outrider jar 1 \(name)".utf8), outputByteCount: 32
        )
    }

    /// Nil if the library fails: then nothing is written.
    func close(_ bytes: [UInt8], _ row: [UInt8]) -> [UInt8]? {
        do {
            let box = try AES.GCM.seal(bytes, using: key, authenticating: row)
            return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
        } catch {
            return nil
        }
    }

    /// Nil for bytes that were not sealed with this key and row.
    func open(_ sealed: [UInt8], _ row: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.nonceBytes + Self.tagBytes else { return nil }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: sealed.prefix(Self.nonceBytes)),
                ciphertext: sealed.dropFirst(Self.nonceBytes).dropLast(Self.tagBytes),
                tag: sealed.suffix(Self.tagBytes))
            return Array(try AES.GCM.open(box, using: key, authenticating: row))
        } catch {
            return nil
        }
    }

    /// A value in the database by which the key is recognized.
    var check: [UInt8]? { close(Self.mark, Self.mark) }

    func isKey(of check: [UInt8]) -> Bool { open(check, Self.mark) == Self.mark }
}

extension HelperVault {
    /// The key of sealed jars, 32 bytes, derived from the key of the credentials on disk, which stays in memory only
    /// meanwhile. Throws when no key is chosen, or the store is locked. Blocks.
    func jarKey() throws(OAuthFailure) -> [UInt8] {
        guard let disk, let source = try diskKey() else { throw .noKeyProvider }
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: try KeyRing.key(from: source, for: disk.directory), info: Array("outrider jars 1".utf8),
            outputByteCount: 32)
        return key.withUnsafeBytes { Array($0) }
    }
}
