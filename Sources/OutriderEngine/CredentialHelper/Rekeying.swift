// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import OutriderHTTP

/// Reseals a whole store with another key.
///
/// All files are written beside the store first, including the choice of the new key. Then a single rename commits;
/// before it the store is unchanged, after it the new files replace the old. The next process finishes that, and needs
/// no key: it only moves files. So a kill at any moment leaves a store that one of the two keys opens.
struct Rekeying {
    private let root: StoreRoot
    private var directory: String { root.directory }

    private static func staging(_ directory: String) -> String { "\(directory)/rekey.tmp" }
    private static func committed(_ directory: String) -> String { "\(directory)/rekey" }

    init(_ root: StoreRoot) { self.root = root }

    /// To be called only with the lock of the whole store.
    ///
    /// - Parameters:
    ///   - source: of the new key, which is `key`.
    ///   - salt: for a key derived from a passphrase.
    ///   - files: returns the files of each credential, opened with the old key and mended.
    func run(
        to source: KeySource, _ key: SymmetricKey, salt: [UInt8]?,
        _ files: (_ place: String) async throws(OAuthFailure) -> CredentialFiles
    ) async throws(OAuthFailure) {
        let staging = Self.staging(directory)
        Self.remove(staging)
        try StoreFile.makeDirectory(staging)
        for place in try root.allPlaces() {
            try StoreFile.makeDirectory("\(staging)/\(place)")
            try await files(place).reseal(with: key, into: "\(staging)/\(place)")
        }
        try StoreFile.write(try StoreRoot.keyCheck(key), to: "\(staging)/key-check")
        if let salt { try StoreFile.write(salt, to: "\(staging)/salt") }
        try StoreFile.write(StoreRoot.written(source), to: "\(staging)/key")
        try StoreFile.sync(staging)
        try StoreFile.move(staging, to: Self.committed(directory))
        try Self.finish(directory)
    }

    static func isCommitted(_ directory: String) -> Bool { access(committed(directory), F_OK) == 0 }

    /// Finishes a committed change of the key; does nothing otherwise. May be interrupted at any moment, and called
    /// again.
    static func finish(_ directory: String) throws(OAuthFailure) {
        let committed = committed(directory)
        guard isCommitted(directory) else { return }
        let names = DirectoryNames.all(in: committed)
        for place in names where place.utf8.count == CredentialFiles.placeBytes {
            for name in DirectoryNames.all(in: "\(committed)/\(place)") {
                try StoreFile.move("\(committed)/\(place)/\(name)", to: "\(directory)/\(place)/\(name)")
            }
            if rmdir("\(committed)/\(place)") != 0 { throw StoreFile.failure("remove", "\(committed)/\(place)") }
        }
        for name in ["salt", "key-check", "key"] where names.contains(name) {
            try StoreFile.move("\(committed)/\(name)", to: "\(directory)/\(name)")
        }
        if rmdir(committed) != 0 { throw StoreFile.failure("remove", committed) }
        try StoreFile.sync(directory)
    }

    /// Removes the files of a process that was killed before the commit.
    private static func remove(_ staging: String) {
        for name in DirectoryNames.all(in: staging) {
            let path = "\(staging)/\(name)"
            if unlink(path) == 0 { continue }
            for file in DirectoryNames.all(in: path) { unlink("\(path)/\(file)") }
            rmdir(path)
        }
        rmdir(staging)
    }
}

extension CredentialHelper {
    /// Changes the key of the store; the old key must be available.
    func rekey(to source: KeySource, passphrase: Secret?) async throws(OAuthFailure) {
        if source == .none { throw KeyChoice.inUse(root) }
        let lock = try root.own()
        defer { withExtendedLifetime(lock) {} }
        let old = try key()
        let fresh = try KeyChoice(root).make(source, passphrase: passphrase, inPlaceOf: place.key)
        try await Rekeying(root).run(to: source, fresh.key, salt: fresh.salt) { (place) async throws(OAuthFailure) in
            try await mended(place, old)
        }
        KeyChoice(root).lock()
        if source == .passphrase { try KeyChoice(root).keep(fresh.key.withUnsafeBytes { Array($0) }) }
    }
}
