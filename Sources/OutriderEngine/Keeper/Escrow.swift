// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Where a sealed record waits that cannot be written where it belongs: a file in the user's runtime directory, or where that
/// cannot be written either, a key in the keyring that the kernel keeps for the user. Both are memory, and go when the machine
/// stops.
struct Escrow {
    /// The name of the directory, in the runtime directory of the user.
    static let place = "outrider-escrow"

    /// By default a user has 20,000 bytes for all his keys.
    private static let mostKeyBytes = 16 << 10

    private let directory: String
    private let path: String
    private let key: String

    /// - Parameters:
    ///   - directory: of all records that wait.
    ///   - name: of this one; fit for a file.
    init(in directory: String, name: String) {
        self.directory = directory
        path = "\(directory)/\(name)"
        key = "outrider-escrow:\(name)"
    }

    /// Whatever waits there: nothing, or one, or an older one beside it. In a directory of another user, which is in the
    /// place of ours where there is only /tmp, nothing does.
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
