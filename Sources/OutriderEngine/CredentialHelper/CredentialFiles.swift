// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import OutriderHTTP

/// The directory of a credential. Its files are read and written under its lock, and only the holder of the lock
/// contacts the server. The lock file is never removed.
///
///     record         the sealed credential           record.prev   the previous record
///     intent         a request is under way          response      the response so far
///     pause          next request, not sealed        reserve       disk space for a full disk
final class CredentialFiles {
    private static let reserveBytes = 256 << 10
    private static let lockSeconds = 45.0
    /// Limit of a record before a request, in bytes: together with the longest response the record stays readable.
    private static let mostRecordBytes = 512 << 10

    let name: String
    private let place: String
    private let directory: String
    private let escrow: FallbackRecordStore?
    private let seal: Seal
    private var held: FileLock?
    private var journal: CInt = -1
    private var journaled = 0
    private var gathering = ResponseJournal.Gathering()
    /// Of the record that was read last.
    private var identity = [UInt8](repeating: 0, count: 32)
    private var generation: UInt64 = 0

    /// The length of the name of a credential's directory.
    static let placeBytes = 64

    /// The name of a credential's directory.
    static func place(of name: String) -> String { HexText.encode(Seal.hash(Array(name.utf8))) }

    /// - Parameter escrow: directory for records that cannot be written; nil for none.
    convenience init(_ name: String, in root: String, key: SymmetricKey, escrow: String?) {
        self.init(place: Self.place(of: name), name: name, in: root, key: key, escrow: escrow)
    }

    /// For a directory whose credential's name is not known yet.
    init(place: String, name: String = "", in root: String, key: SymmetricKey, escrow: String?) {
        self.name = name
        self.place = place
        directory = "\(root)/\(place)"
        seal = Seal(key: key, place: place)
        // several stores share the directory of last resort
        let wherever = HexText.encode(Seal.hash(Array(directory.utf8)).prefix(16))
        self.escrow = escrow.map { FallbackRecordStore(in: $0, name: wherever) }
    }

    deinit {
        if journal >= 0 { close(journal) }
    }

    private func path(_ file: RotationFiles.Name) -> String { "\(directory)/\(file.rawValue)" }

    // MARK: the lock

    /// Waits for the lock, at most 45 seconds; creates the directory.
    func lock() throws(OAuthFailure) {
        try StoreFile.makeDirectory(directory)
        held = try FileLock(
            "\(directory)/lock", within: Self.lockSeconds,
            busy: OAuthFailure(
                .temporary, "refresh_busy", "another process has held the lock of '\(name)' for 45 seconds",
                retryAfter: 1))
    }

    /// Whether the directory of the credential exists.
    var exists: Bool { access(directory, F_OK) == 0 }

    // MARK: reading

    /// The mark of the record on disk.
    var mark: RecordMark? { Self.mark(of: directory) }

    /// The mark of the record in the directory of a credential; nil if the directory does not exist: the store is in
    /// memory, or removed.
    static func mark(of directory: String) -> RecordMark? {
        var info = stat()
        if stat("\(directory)/record", &info) != 0 {
            return errno == ENOENT && access(directory, F_OK) == 0 ? .absent : nil
        }
        let time = info.st_mtim
        let nanoseconds = UInt64(bitPattern: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
        return .written(inode: UInt64(info.st_ino), nanoseconds: nanoseconds)
    }

    func look() throws(OAuthFailure) -> RotationFiles {
        var files = RotationFiles()
        files.record = try sight(path(.record))
        files.previous = try sight(path(.previous))
        files.escrow = try waiting()
        if let record = files.record.value ?? files.escrow.value { remember(record) }
        if let bytes = try StoreFile.read(path(.intent)) {
            let intent = seal.open(bytes, .intent).flatMap { opened in
                try? RotationIntent(packed: PackedScanner(opened.bytes))
            }
            files.intent = intent.map { .whole($0) } ?? .damaged
        }
        if let bytes = try StoreFile.read(path(.response)) { files.response = ResponseJournal.read(bytes, seal) }
        if let bytes = try StoreFile.read(path(.pause)) {
            files.pause = try? RotationPause(packed: PackedScanner(bytes))
        }
        return files
    }

    /// The newest record, read without the lock: a record is always whole.
    func read() throws(OAuthFailure) -> (record: CredentialRecord, isSaved: Bool)? {
        // in this order: a waiting record that disappears meanwhile is in the record file then
        let waiting = try waiting().value
        let record = try sight(path(.record))
        if let waiting, waiting.generation > (record.value?.generation ?? 0) { return (waiting, false) }
        if let record = record.value { return (record, true) }
        // as the next holder of the lock will write the record
        if let previous = try sight(path(.previous)).value { return (previous.succeedingDamaged(), true) }
        guard record.isDamaged else { return nil }
        throw OAuthFailure(
            .store, "record_damaged",
            "the record of '\(name)' is damaged, and there is none before it; outrider credentials forget \(name) puts it "
                + "aside, then log in again")
    }

    private func sight(_ path: String) throws(OAuthFailure) -> RotationFiles.Sight<CredentialRecord> {
        guard let bytes = try StoreFile.read(path) else { return .absent }
        return opened(bytes)
    }

    /// The newest of the records that could not be written.
    private func waiting() throws(OAuthFailure) -> RotationFiles.Sight<CredentialRecord> {
        let found = try escrow?.read().map(opened) ?? []
        let newest = found.compactMap(\.value).max { $0.generation < $1.generation }
        return newest.map { .whole($0) } ?? found.first ?? .absent
    }

    private func opened(_ bytes: [UInt8]) -> RotationFiles.Sight<CredentialRecord> {
        guard let opened = seal.open(bytes, .record),
            let record = try? CredentialRecord(packed: PackedScanner(opened.bytes)),
            Self.place(of: record.spec.name) == place, record.generation == opened.generation,
            Seal.hash(record.spec.identity) == opened.identity
        else { return .damaged }
        return .whole(record)
    }

    private func remember(_ record: CredentialRecord) {
        identity = Seal.hash(record.spec.identity)
        generation = record.generation
    }

    // MARK: writing

    private func sealed(_ value: some Packed, _ kind: Seal.Kind) throws(OAuthFailure) -> [UInt8] {
        guard let bytes = seal.close(PackedWriter.bytes(of: value), kind, generation: generation, identity: identity)
        else { throw OAuthFailure(.store, "seal_failed", "a record could not be sealed; nothing was written") }
        return bytes
    }

    /// Makes sure that the disk has room for the next record, or throws.
    func prepare(_ record: CredentialRecord) throws(OAuthFailure) {
        remember(record)
        let bytes = try sealed(record, .record)
        guard bytes.count <= Self.mostRecordBytes else {
            throw OAuthFailure(
                .config, StoreFile.tooLongReason,
                "all that belongs to '\(name)', its secrets, tokens and settings, is longer than the "
                    + "\(Self.mostRecordBytes) bytes that are kept")
        }
        try StoreFile.write(bytes, to: path(.record) + ".tmp")
        let reserve = "\(directory)/reserve"
        if StoreFile.heldBytes(reserve) >= Self.reserveBytes { return }
        try StoreFile.write([UInt8](repeating: 0x52, count: Self.reserveBytes), to: reserve)
    }

    func write(_ record: CredentialRecord) throws(OAuthFailure) {
        remember(record)
        let bytes = try sealed(record, .record)
        do throws(OAuthFailure) {
            try replaceRecord(with: bytes)
        } catch {
            // frees the reserved disk space
            unlink("\(directory)/reserve")
            try replaceRecord(with: bytes)
        }
        // only now: the escrow may have held the only copy of these tokens; a leftover is older than the next record
        try? forgetEscrow()
    }

    private func forgetEscrow() throws(OAuthFailure) { try escrow?.forget() }

    private func replaceRecord(with bytes: [UInt8]) throws(OAuthFailure) {
        let record = path(.record)
        try StoreFile.write(bytes, to: record + ".tmp")
        let previous = path(.previous) + ".tmp"
        unlink(previous)
        // the record is never missing, not even between two calls; without hard links, no previous record is kept
        if link(record, previous) == 0 { rename(previous, path(.previous)) }
        try StoreFile.move(record + ".tmp", to: record)
    }

    func write(_ intent: RotationIntent) throws(OAuthFailure) {
        try StoreFile.replace(path(.intent), with: try sealed(intent, .intent))
    }

    func write(_ pause: RotationPause) throws(OAuthFailure) {
        try StoreFile.write(PackedWriter.bytes(of: pause), to: path(.pause))
    }

    func escrow(_ record: CredentialRecord) throws(OAuthFailure) {
        guard let escrow else {
            throw OAuthFailure(.store, "store_unwritable", "there is no place to keep the tokens of '\(name)'")
        }
        remember(record)
        try escrow.write(try sealed(record, .record))
    }

    /// Removes all files of an attempt: the intent first, since the others mean nothing without it.
    func clear() throws(OAuthFailure) {
        for name in [RotationFiles.Name.intent, .response, .pause] { try StoreFile.remove(path(name)) }
    }

    /// Renames a damaged file for a person to inspect.
    func quarantine(_ path: String) throws(OAuthFailure) {
        let aside = "\(directory)/damaged-\(Clocks.now.wall.rounded())-\(UInt16.random(in: 0...UInt16.max))"
        try StoreFile.move(path, to: aside)
    }

    func quarantine(_ file: RotationFiles.Name) throws(OAuthFailure) { try quarantine(path(file)) }
    func quarantineEscrow() throws(OAuthFailure) { try forgetEscrow() }

    /// Removes everything but the lock.
    func forget() throws(OAuthFailure) {
        try clear()
        try forgetEscrow()
        let names = ["record.prev", "record.prev.tmp", "record.tmp", "intent.tmp", "reserve", "record"]
        for name in names { try StoreFile.remove("\(directory)/\(name)") }
    }

    /// Removes the previous record: its tokens were revoked.
    func forgetPrevious() throws(OAuthFailure) { try StoreFile.remove(path(.previous)) }

    /// Writes all files again into another directory, sealed with another key, and removes the journal. To be called
    /// with the lock, after mending.
    func reseal(with key: SymmetricKey, into other: String) throws(OAuthFailure) {
        let files = try look()
        if let waiting = files.escrow.value, waiting.generation > (files.record.value?.generation ?? 0) {
            throw OAuthFailure(
                .store, "store_unwritable",
                "the tokens of '\(waiting.spec.name)' are not on disk yet: make room there, use it, and try again")
        }
        try forgetEscrow()
        let fresh = Seal(key: key, place: place)
        for (name, kind) in [(RotationFiles.Name.record, Seal.Kind.record), (.previous, .record), (.intent, .intent)] {
            guard let bytes = try StoreFile.read(path(name)) else { continue }
            guard let opened = seal.open(bytes, kind),
                let sealed = fresh.close(
                    opened.bytes, kind, generation: opened.generation, identity: opened.identity)
            else { throw OAuthFailure(.store, "record_damaged", "\(path(name)) cannot be sealed anew") }
            try StoreFile.write(sealed, to: "\(other)/\(name.rawValue)")
        }
        try StoreFile.sync(other)
        try StoreFile.remove(path(.response))
    }

    // MARK: attempts

    /// Before a request: writes the intent, and opens the journal, since there is no time to lose when the response
    /// comes.
    func begin(_ intent: RotationIntent) throws(OAuthFailure) {
        closeJournal()
        journal = try StoreFile.open(path(.response), O_WRONLY | O_CREAT | O_TRUNC, "write")
        journaled = 0
        gathering = ResponseJournal.Gathering()
        try write(intent)
    }

    /// Writes a piece of a response before it is parsed. A failed write does not end the request.
    func journal(_ piece: ResponseJournal.Piece) {
        for whole in gathering.take(piece) { put(whole) }
    }

    private func put(_ piece: ResponseJournal.Piece) {
        guard journal >= 0, let bytes = ResponseJournal.sealed(piece, number: journaled, seal) else { return }
        journaled += 1
        do throws(OAuthFailure) {
            try StoreFile.append(bytes, to: journal, path(.response))
        } catch {
            unlink("\(directory)/reserve")
            closeJournal()
        }
        if case .end = piece {
            fsync(journal)
            closeJournal()
        }
    }

    private func closeJournal() {
        if journal >= 0 { close(journal) }
        journal = -1
    }
}
