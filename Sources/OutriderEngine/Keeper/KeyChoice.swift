// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
package import OutriderHTTP

/// What people do about the key of their store: choose where it comes from, unlock it, lock it.
package struct KeyChoice {
    private let root: StoreRoot

    package init(_ root: StoreRoot) { self.root = root }

    /// Chooses a source for a store that holds nothing, makes a key there if it has none, and proves that it gives one.
    ///
    /// Throws if credentials are sealed already with another one: for these there is `KeeperVault.rekey`.
    package func choose(_ source: KeySource, passphrase: Secret? = nil) throws(OAuthFailure) {
        let lock = try root.own()
        defer { withExtendedLifetime(lock) {} }
        let chosen = try root.chosenKey()
        let holds = try root.holdsCredentials()
        guard chosen == source || !holds else { throw Self.inUse(root) }
        switch source {
        case .file(let path): try Self.makeFile(path)
        case .secretService: try makeInSecretService()
        case .passphrase: try unlock(with: passphrase ?? Secret(""), makes: true)
        case .none, .command, .raw: break
        }
        if source != chosen { try root.forgetKeyCheck() }
        if source != .none { try root.check(KeyRing.key(from: source, for: root.directory)) }
        try root.choose(source)
    }

    static func inUse(_ root: StoreRoot) -> OAuthFailure {
        OAuthFailure(
            .config, "key_in_use",
            "credentials in \(root.directory) are sealed, and cannot be kept without a key; forget them first, or name "
                + "another directory with --credentials")
    }

    /// A key of that source, made if there is none; of a passphrase with the salt that belongs to it. Changes nothing of the
    /// store.
    func make(_ source: KeySource, passphrase: Secret?) throws(OAuthFailure) -> (key: SymmetricKey, salt: [UInt8]?) {
        switch source {
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
        try unlock(with: passphrase, makes: false)
        do throws(OAuthFailure) {
            try root.check(KeyRing.key(from: .passphrase, for: root.directory))
        } catch {
            lock()
            throw error.reason == OAuthFailure.wrongKeyReason
                ? OAuthFailure(.store, "wrong_passphrase", "that is not the passphrase of \(root.directory)") : error
        }
    }

    package func lock() { KernelKeys.forget(KernelKeys.name(root.directory)) }

    private func unlock(with passphrase: Secret, makes: Bool) throws(OAuthFailure) {
        let path = "\(root.directory)/salt"
        var salt = try StoreFile.read(path)
        if salt == nil, makes {
            let fresh = Self.freshSalt()
            try StoreFile.replace(path, with: fresh)
            salt = fresh
        }
        guard let salt, salt.count == PassphraseKey.saltBytes else {
            throw OAuthFailure(
                .store, "store_damaged", "\(path) is missing or damaged: without it no passphrase opens anything")
        }
        try keep(try Self.derive(passphrase, salt))
    }

    /// The kernel has it until the machine stops.
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
        guard !passphrase.exposed.isEmpty else {
            throw OAuthFailure(.config, "no_passphrase", "the passphrase is empty")
        }
        guard let key = PassphraseKey.derive(from: passphrase, salt: salt) else {
            throw OAuthFailure(.store, "store_failed", "there is not enough memory to derive a key: 64 MB are wanted")
        }
        return key
    }

    private static func makeFile(_ path: String) throws(OAuthFailure) {
        guard StoreFile.isPrivate(path) == nil else { return }
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
        if file < 0 { throw StoreFile.failure("create", path) }
        defer { close(file) }
        try StoreFile.append(Array((fresh() + "\n").utf8), to: file, path)
        if fsync(file) != 0 { throw StoreFile.failure("sync", path) }
    }

    private func makeInSecretService() throws(OAuthFailure) {
        let attributes = KeyRing.attributes(root.directory)
        if case .ended(0, let found) = ChildProcess.run(["secret-tool", "lookup"] + attributes, input: [], seconds: 3),
            !found.isEmpty
        {
            return
        }
        let words = ["secret-tool", "store", "--label=Outrider: the key of the credentials"] + attributes
        let outcome = ChildProcess.run(words, input: Array(Self.fresh().utf8), seconds: 3)
        guard case .ended(0, _) = outcome else {
            throw KeyRing.locked("the Secret Service did not take it: is secret-tool installed, and the keyring open?")
        }
    }

    private static func fresh() -> String {
        CredentialFiles.hex((0..<KeyRing.keyBytes).map { _ in UInt8.random(in: 0...255) })
    }
}
