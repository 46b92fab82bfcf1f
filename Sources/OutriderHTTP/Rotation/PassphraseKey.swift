// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CryptoExtras

/// A key derived from a passphrase: scrypt (RFC 7914), with 64 MB of memory and some tenths of a second for each guess.
package enum PassphraseKey {
    package static let saltBytes = 16
    private static let rounds = 1 << 16
    private static let blockSize = 8
    private static let parallelism = 1
    private static let mostMemory = 128 << 20

    /// 32 bytes; nil if there is not enough memory.
    package static func derive(from passphrase: Secret, salt: [UInt8]) -> [UInt8]? {
        let key = try? KDF.Scrypt.deriveKey(
            from: passphrase.withBytes { Array($0) }, salt: salt, outputByteCount: 32, rounds: rounds,
            blockSize: blockSize,
            parallelism: parallelism, maxMemory: mostMemory)
        return key?.withUnsafeBytes { Array($0) }
    }
}
