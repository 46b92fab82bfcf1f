// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The place for a sealed record that cannot be written to its store: a file in the user's runtime directory, or, if
/// that fails, a key in the keyring that the kernel keeps for the user. Both live in memory, until the machine stops.
struct FallbackRecordStore {
    /// The name of the directory in the user's runtime directory.
    static let place = "outrider-escrow"

    /// Linux limits all keys of a user to 20,000 bytes by default.
    private static let mostKeyBytes = 16 << 10

    private let directory: String
    private let path: String
    private let key: String

    /// - Parameters:
    ///   - directory: of all waiting records.
    ///   - name: of this record; fit for a file name.
    init(in directory: String, name: String) {
        self.directory = directory
        path = "\(directory)/\(name)"
        key = "outrider-escrow:\(name)"
    }

    /// All waiting records: none, one, or an older one besides. A directory of another user, possible under /tmp,
    /// counts as empty.
    func read() throws(OAuthFailure) -> [[UInt8]] {
        let file = StoreFile.isOurs(directory) ? try StoreFile.read(path) : nil
        let found = [file, KernelKeys.read(key, most: Self.mostKeyBytes)]
        return found.compactMap(\.self)
    }

    func write(_ bytes: [UInt8]) throws(OAuthFailure) {
        do throws(OAuthFailure) {
            try StoreFile.makeDirectory(directory)
            try StoreFile.replace(path, with: bytes)
        } catch {
            guard bytes.count <= Self.mostKeyBytes, KernelKeys.put(key, bytes) else { throw error }
        }
    }

    func forget() throws(OAuthFailure) {
        KernelKeys.forget(key)
        if StoreFile.isOurs(directory) { try StoreFile.remove(path) }
    }
}
