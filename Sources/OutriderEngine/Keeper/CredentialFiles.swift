// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import OutriderHTTP

/// The directory of one credential. Its files are read and written under its lock, which is never removed: its holder
/// is the only one who asks the server.
///
///     record         all that is known, sealed       record.prev   the one before
///     intent         a request is under way          response      what has come of its answer
///     pause          when to ask again, not sealed   reserve       room for the day on which there is none
final class CredentialFiles {
    private static let reserveBytes = 256 << 10
    private static let lockSeconds = 45.0
    /// The longest record for which anything is sent, in bytes: with the longest answer in it, it is still read again.
    private static let mostRecordBytes = 512 << 10

    let name: String
    private let place: String
    private let directory: String
    private let escrow: Escrow?
    private let seal: Seal
    private var held: FileLock?
    private var journal: CInt = -1
    private var journaled = 0
    private var gathering = AnswerJournal.Gathering()
    /// Of the record that was seen last.
    private var identity = [UInt8](repeating: 0, count: 32)
    private var generation: UInt64 = 0

    /// How long the name of a credential's directory is.
    static let placeBytes = 64

    /// The name of a credential's directory.
    static func place(of name: String) -> String { hex(Seal.hash(Array(name.utf8))) }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// - Parameter escrow: where a record goes that cannot be written; nil for nowhere.
    convenience init(_ name: String, in root: String, key: SymmetricKey, escrow: String?) {
        self.init(place: Self.place(of: name), name: name, in: root, key: key, escrow: escrow)
    }

    /// Whose name is yet to be read.
    init(place: String, name: String = "", in root: String, key: SymmetricKey, escrow: String?) {
        self.name = name
        self.place = place
        directory = "\(root)/\(place)"
        seal = Seal(key: key, place: place)
        // several stores share the place of last resort
        let wherever = Self.hex(Array(Seal.hash(Array(directory.utf8)).prefix(16)))
        self.escrow = escrow.map { Escrow(in: $0, name: wherever) }
    }

    deinit {
        if journal >= 0 { close(journal) }
    }

    private func path(_ file: RotationFiles.Name) -> String { "\(directory)/\(file.rawValue)" }

    // MARK: the lock

    /// Waits for it, at most 45 seconds; with it, the directory is there.
    func lock() throws(OAuthFailure) {
        try StoreFile.makeDirectory(directory)
        held = try FileLock(
            "\(directory)/lock", within: Self.lockSeconds,
            busy: OAuthFailure(
                .temporary, "refresh_busy", "another process has held the lock of '\(name)' for 45 seconds",
                retryAfter: 1))
    }

    /// Whether anything was ever written for it.
    var exists: Bool { access(directory, F_OK) == 0 }

    // MARK: reading

    /// Of its record as it stands.
    var mark: RecordMark? { Self.mark(of: directory) }

    /// Of the record in the directory of a credential; nil if there is no such directory: the store is elsewhere, or gone.
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
        if let bytes = try StoreFile.read(path(.response)) { files.answer = AnswerJournal.read(bytes, seal) }
        if let bytes = try StoreFile.read(path(.pause)) {
            files.pause = try? RotationPause(packed: PackedScanner(bytes))
        }
        return files
    }

    /// What is known, without the lock: the record is always whole.
    func read() throws(OAuthFailure) -> (record: CredentialRecord, isSaved: Bool)? {
        // in this order: what waits no longer when we look is in the record then
        let waiting = try waiting().value
        let record = try sight(path(.record))
        if let waiting, waiting.generation > (record.value?.generation ?? 0) { return (waiting, false) }
        if let record = record.value { return (record, true) }
        // as whoever comes next with the lock will write it
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

    /// There is room for what may come, or an error.
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
            // what was kept back for this moment
            unlink("\(directory)/reserve")
            try replaceRecord(with: bytes)
        }
        // only now: it may have been the only place where these tokens were; left over, it is older than the next record
        try? forgetEscrow()
    }

    private func forgetEscrow() throws(OAuthFailure) { try escrow?.forget() }

    private func replaceRecord(with bytes: [UInt8]) throws(OAuthFailure) {
        let record = path(.record)
        try StoreFile.write(bytes, to: record + ".tmp")
        let previous = path(.previous) + ".tmp"
        unlink(previous)
        // the record is never missing, not even between two calls; where there are no hard links, there is none before it
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

    /// Removes all that belongs to an attempt: the intent first, since without it the rest means nothing.
    func clear() throws(OAuthFailure) {
        for name in [RotationFiles.Name.intent, .response, .pause] { try StoreFile.remove(path(name)) }
    }

    /// Puts a damaged file aside, where a person finds it.
    func quarantine(_ path: String) throws(OAuthFailure) {
        let aside = "\(directory)/damaged-\(Clocks.now.wall.rounded())-\(UInt16.random(in: 0...UInt16.max))"
        try StoreFile.move(path, to: aside)
    }

    func quarantine(_ file: RotationFiles.Name) throws(OAuthFailure) { try quarantine(path(file)) }
    func quarantineEscrow() throws(OAuthFailure) { try forgetEscrow() }

    /// Nothing is left but the lock.
    func forget() throws(OAuthFailure) {
        try clear()
        try forgetEscrow()
        let names = ["record.prev", "record.prev.tmp", "record.tmp", "intent.tmp", "reserve", "record"]
        for name in names { try StoreFile.remove("\(directory)/\(name)") }
    }

    /// The record before this one holds tokens that were revoked.
    func forgetPrevious() throws(OAuthFailure) { try StoreFile.remove(path(.previous)) }

    /// Writes all of it once more into another directory, sealed with another key; what was journaled and is not needed any
    /// more goes. To be called with the lock, when what could be mended was.
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

    // MARK: what comes

    /// Before a request: what is intended, and a place for the answer, since there is no time to lose when it comes.
    func begin(_ intent: RotationIntent) throws(OAuthFailure) {
        closeJournal()
        journal = try StoreFile.open(path(.response), O_WRONLY | O_CREAT | O_TRUNC, "write")
        journaled = 0
        gathering = AnswerJournal.Gathering()
        try write(intent)
    }

    /// Writes down a piece of a response before it is read. A failure to write ends nothing.
    func journal(_ piece: AnswerJournal.Piece) {
        for whole in gathering.take(piece) { put(whole) }
    }

    private func put(_ piece: AnswerJournal.Piece) {
        guard journal >= 0, let bytes = AnswerJournal.sealed(piece, number: journaled, seal) else { return }
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
