// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Crypto
import Glibc
package import OutriderHTTP

/// The directory of all credentials of a user: access, and the choice of the sealing key.
package struct StoreRoot {
    package let directory: String

    package init(_ directory: String) { self.directory = directory }

    /// The default directory.
    package static var usual: String? { UserDirectory.data("credentials") }

    // MARK: the key

    private var choicePath: String { "\(directory)/key" }

    /// The source chosen for this store; none by default.
    package func chosenKey() throws(OAuthFailure) -> KeySource {
        guard let bytes = try StoreFile.read(choicePath) else { return .none }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.last == "", let source = KeySource(lines: lines.dropLast().map(String.init)) else {
            throw OAuthFailure(
                .store, "store_damaged", "\(choicePath) cannot be understood; choose again: outrider credentials key")
        }
        return source
    }

    /// Stores the choice for every process of the user.
    package func choose(_ source: KeySource) throws(OAuthFailure) {
        try prepare()
        try StoreFile.replace(choicePath, with: Self.written(source))
    }

    /// The form of a source in a file.
    static func written(_ source: KeySource) -> [UInt8] { Array((source.lines.joined(separator: "\n") + "\n").utf8) }

    /// Makes the next key the first again. Only for a store without sealed records.
    func forgetKeyCheck() throws(OAuthFailure) {
        if unlink("\(directory)/key-check") != 0 && errno != ENOENT {
            throw StoreFile.failure("remove", "\(directory)/key-check")
        }
    }

    /// Whether a key is already fixed for this store.
    var hasKeyCheck: Bool { access("\(directory)/key-check", F_OK) == 0 }

    /// Whether the store has sealed records.
    package func holdsCredentials() throws(OAuthFailure) -> Bool {
        try allPlaces().contains { place in
            ["record", "record.prev"].contains { access("\(directory)/\(place)/\($0)", F_OK) == 0 }
        }
    }

    // MARK: for the helper

    /// Creates the directory if missing; refuses a directory that others may enter, or on a network file system, where
    /// locks and renames are not reliable.
    func prepare() throws(OAuthFailure) {
        try StoreFile.makeDirectory(directory)
        try inspect()
    }

    /// Checks the directory again, since it may have changed after its creation.
    func inspect() throws(OAuthFailure) {
        try StoreFile.inspectDirectory(directory)
        guard !Self.isRemote(directory) else {
            throw OAuthFailure(
                .store, "store_unsafe",
                "\(directory) is on a network file system; name a directory on a local disk with --credentials")
        }
    }

    /// Whether a directory is on a network file system, where locks are not reliable.
    static func isRemote(_ directory: String) -> Bool { remote.contains(outrider_file_system(directory)) }

    /// NFS, SMB, CIFS, SMB 2, AFS, Ceph, 9P (statfs(2)).
    private static let remote: Set<Int> = [
        0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400, 0x0102_1997,
    ]

    /// The names of the directories that have a record.
    func places() throws(OAuthFailure) -> [String] {
        try allPlaces().filter { access("\(directory)/\($0)/record", F_OK) == 0 }
    }

    /// The names of the directories of all credentials, past and present.
    func allPlaces() throws(OAuthFailure) -> [String] {
        guard let names = DirectoryNames.read(directory) else {
            if errno == ENOENT { return [] }
            throw StoreFile.failure("read", directory)
        }
        return names.filter { $0.utf8.count == CredentialFiles.placeBytes }.sorted()
    }

    /// Checks that the store is sealed with this key: with a wrong key, every record would look damaged.
    func check(_ key: SymmetricKey) throws(OAuthFailure) {
        let path = "\(directory)/key-check"
        let seal = Seal(key: key, place: "key-check")
        if let bytes = try StoreFile.read(path) {
            if seal.open(bytes, .record) != nil { return }
            throw OAuthFailure(
                .store, OAuthFailure.wrongKeyReason,
                "the credentials in \(directory) are sealed with another key than the one that is chosen now; if the other "
                    + "one is lost for good, see outrider credentials forget --lost-key")
        }
        try prepare()
        let bytes = try Self.keyCheck(key)
        let temporary = "\(path)-\(getpid()).tmp"
        try StoreFile.write(bytes, to: temporary)
        defer { unlink(temporary) }
        // the faster process decides
        if link(temporary, path) == 0 { return }
        guard errno == EEXIST else { throw StoreFile.failure("write", path) }
        try check(key)
    }

    /// A file that only that key opens.
    static func keyCheck(_ key: SymmetricKey) throws(OAuthFailure) -> [UInt8] {
        let identity = [UInt8](repeating: 0, count: 32)
        let seal = Seal(key: key, place: "key-check")
        guard let bytes = seal.close([], .record, generation: 0, identity: identity) else {
            throw OAuthFailure(.store, "seal_failed", "the key does not seal; nothing was written")
        }
        return bytes
    }
}
