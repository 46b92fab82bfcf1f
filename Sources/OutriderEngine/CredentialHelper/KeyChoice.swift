// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
package import OutriderHTTP

/// Key management of a store for its user: choose a source, unlock, lock.
package struct KeyChoice {
    private let root: StoreRoot

    package init(_ root: StoreRoot) { self.root = root }

    /// Chooses a source for an empty store, creates a key there if missing, and verifies that the source returns the
    /// key. Choosing the same source again creates no key: the records sealed with the old key would be lost.
    ///
    /// Throws if credentials are already sealed with another key: use `HelperVault.rekey` for these.
    package func choose(_ source: KeySource, passphrase: Secret? = nil) throws(OAuthFailure) {
        let lock = try root.own()
        defer { withExtendedLifetime(lock) {} }
        let chosen = try root.chosenKey()
        let holds = try root.holdsCredentials()
        guard chosen == source || !holds else { throw Self.inUse(root) }
        // an empty store needs no old key
        if !holds, chosen != source || source == .passphrase { try root.forgetKeyCheck() }
        let isFresh = !holds && !root.hasKeyCheck
        switch source {
        case .file(let path) where isFresh: try Self.makeFile(path)
        case .secretService where isFresh: try makeInSecretService()
        case .passphrase:
            let key = try derived(from: passphrase ?? Secret(""), makes: isFresh)
            if !isFresh { try root.check(SymmetricKey(data: key)) }
            try keep(key)
        case .none, .command, .raw, .file, .secretService: break
        }
        if source != .none { try root.check(KeyRing.key(from: source, for: root.directory)) }
        try root.choose(source)
    }

    static func inUse(_ root: StoreRoot) -> OAuthFailure {
        OAuthFailure(
            .config, "key_in_use",
            "credentials in \(root.directory) are sealed, and cannot be kept without a key; forget them first, with "
                + "--lost-key if it is lost, or name another directory with --credentials")
    }

    /// The key of that source, created if missing; derived from a passphrase with a fresh salt. Does not change the
    /// store.
    ///
    /// - Parameter old: the source of the current key; no key is created there.
    func make(
        _ source: KeySource, passphrase: Secret?, inPlaceOf old: KeySource
    ) throws(OAuthFailure) -> (key: SymmetricKey, salt: [UInt8]?) {
        switch source {
        case old where source != .passphrase: break
        case .file(let path): try Self.makeFile(path)
        case .secretService: try makeInSecretService()
        case .passphrase:
            let salt = Self.freshSalt()
            return (SymmetricKey(data: try Self.derive(passphrase ?? Secret(""), salt)), salt)
        case .none, .command, .raw: break
        }
        return (try KeyRing.key(from: source, for: root.directory), nil)
    }

    /// Keeps the key in the kernel until the machine stops.
    package func unlock(with passphrase: Secret) throws(OAuthFailure) {
        guard try root.chosenKey() == .passphrase else {
            throw OAuthFailure(.config, "no_passphrase", "this store has no passphrase; there is nothing to unlock")
        }
        let key = try derived(from: passphrase, makes: false)
        // before the key replaces one that may be right
        do throws(OAuthFailure) {
            try root.check(SymmetricKey(data: key))
        } catch {
            throw error.reason == OAuthFailure.wrongKeyReason
                ? OAuthFailure(.store, "wrong_passphrase", "that is not the passphrase of \(root.directory)") : error
        }
        try keep(key)
    }

    /// Removes everything sealed with a lost key, and the choice of that key. No key opens these records, and none of
    /// their tokens can be revoked.
    ///
    /// Throws if the key is available.
    ///
    /// - Parameters:
    ///   - source: of the lost key.
    ///   - announce: called with the number of credentials before they are removed.
    package func forgetLostKey(_ source: KeySource, announce: (Int) -> Void) throws(OAuthFailure) {
        let lock = try root.own()
        defer { withExtendedLifetime(lock) {} }
        let places = try root.allPlaces()
        if try isAtHand(source) {
            throw OAuthFailure(
                .config, "key_at_hand",
                "the key of \(root.directory) is not lost; forget its credentials by their names")
        }
        announce(try root.places().count)
        for place in places {
            let files = CredentialFiles(
                place: place, in: root.directory, key: SymmetricKey(size: .bits256),
                escrow: StoreFile.runtime(FallbackRecordStore.place))
            try files.lock()
            try files.forget()
        }
        for name in ["key-check", "salt", "key"] { try StoreFile.remove("\(root.directory)/\(name)") }
        self.lock()
    }

    private func isAtHand(_ source: KeySource) throws(OAuthFailure) -> Bool {
        do throws(OAuthFailure) {
            try root.check(KeyRing.key(from: source, for: root.directory))
            return true
        } catch {
            if [OAuthFailure.lockedReason, OAuthFailure.wrongKeyReason].contains(error.reason) { return false }
            throw error
        }
    }

    package func lock() { KernelKeys.forget(KernelKeys.name(root.directory)) }

    /// - Parameter makes: create a salt if missing, since nothing is sealed yet.
    private func derived(from passphrase: Secret, makes: Bool) throws(OAuthFailure) -> [UInt8] {
        let path = "\(root.directory)/salt"
        var salt = try StoreFile.read(path)
        if makes, salt?.count != PassphraseKey.saltBytes {
            let fresh = Self.freshSalt()
            try StoreFile.replace(path, with: fresh)
            salt = fresh
        }
        guard let salt, salt.count == PassphraseKey.saltBytes else {
            throw OAuthFailure(
                .store, "store_damaged", "\(path) is missing or damaged: without it no passphrase opens anything")
        }
        return try Self.derive(passphrase, salt)
    }

    /// Stores the key in the kernel until the machine stops.
    func keep(_ key: [UInt8]) throws(OAuthFailure) {
        guard KernelKeys.put(KernelKeys.name(root.directory), key) else {
            throw OAuthFailure(
                .store, "store_failed",
                "the kernel's keyring did not take the key: \(String(cString: strerror(errno)))")
        }
    }

    private static func freshSalt() -> [UInt8] {
        (0..<PassphraseKey.saltBytes).map { _ in UInt8.random(in: 0...255) }
    }

    private static func derive(_ passphrase: Secret, _ salt: [UInt8]) throws(OAuthFailure) -> [UInt8] {
        guard passphrase.count > 0 else {
            throw OAuthFailure(.config, "no_passphrase", "the passphrase is empty")
        }
        guard let key = PassphraseKey.derive(from: passphrase, salt: salt) else {
            throw OAuthFailure(.store, "store_failed", "there is not enough memory to derive a key: 64 MB are wanted")
        }
        return key
    }

    private static func makeFile(_ path: String) throws(OAuthFailure) {
        guard StoreFile.isPrivate(path) == nil else { return }
        let file = try StoreFile.open(path, O_WRONLY | O_CREAT | O_EXCL, "create")
        defer { close(file) }
        do throws(OAuthFailure) {
            try StoreFile.append(Array((fresh() + "\n").utf8), to: file, path)
            if fsync(file) != 0 { throw StoreFile.failure("sync", path) }
        } catch {
            // half a key would block the next attempt
            unlink(path)
            throw error
        }
    }

    private func makeInSecretService() throws(OAuthFailure) {
        let attributes = KeyRing.attributes(root.directory)
        switch ChildProcess.run(["secret-tool", "lookup"] + attributes, seconds: 3) {
        case .ended(0, let found) where !found.isEmpty: return
        case .ended: break
        case .tooLong, .tooMuch, .notStarted: throw Self.unasked
        }
        // a locked keyring whose user declines returns nothing, too; but a search lists its items
        switch ChildProcess.run(["secret-tool", "search"] + attributes, seconds: 3) {
        case .ended(_, let found) where found.isEmpty: break
        case .ended: throw KeyRing.locked("the Secret Service has it and does not give it: is the keyring open?")
        case .tooLong, .tooMuch, .notStarted: throw Self.unasked
        }
        let words = ["secret-tool", "store", "--label=Outrider: the key of the credentials"] + attributes
        let outcome = ChildProcess.run(words, input: Secret(Self.fresh()), seconds: 3)
        guard case .ended(0, _) = outcome else {
            throw KeyRing.locked("the Secret Service did not take it: is secret-tool installed, and the keyring open?")
        }
    }

    private static var unasked: OAuthFailure {
        KeyRing.locked(
            "the Secret Service did not respond within 3 seconds: is secret-tool installed, and the keyring open?")
    }

    private static func fresh() -> String {
        HexText.encode((0..<KeyRing.keyBytes).map { _ in UInt8.random(in: 0...255) })
    }
}
