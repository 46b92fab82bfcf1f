// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderFiles
import OutriderHTTP
import OutriderTransport
import Synchronization

/// The hidden file of a download, with the journal beside it. Locked while open, against other downloads to the same
/// destination, in this process and in others. All calls block.
final class PartialFile: Sendable {
    struct State {
        var journal: DownloadJournal
        /// The written ranges, synced or not.
        var held = HeldRanges()
        /// Whether a later download can go on with the bytes; else no journal may vouch for them.
        var isResumable = true
        var isJournaled = false
        /// When the journal is to be saved next.
        var nextSave = ContinuousClock.now
        var isSaving = false
        /// A sync failed, and the content on disk is unknown: the kernel reports a lost write only once, so a repeated
        /// sync would succeed.
        var isLost = false
        /// Changes when a held range is dropped: earlier readings are then invalid.
        var era = 0
    }

    /// The directory of the file, and the name of the destination.
    let home: DownloadPlace
    let name: String
    let descriptor: CInt
    let state: Mutex<State>
    let digests = Mutex(DigestRunner())
    /// Whether the file is finished or removed. Locked during a write of the journal, which must not come later.
    private let isGone = Mutex(false)

    /// Seconds between two saves of the journal; the limit of what a power loss can cost.
    private static let saveSeconds = 5.0

    private var journalFile: JournalFile { JournalFile(beside: name, in: home) }

    var path: String { "\(home.directory == "/" ? "" : home.directory)/\(name)" }

    /// Throws `destinationBusy` while another download writes the file, `destinationUnsafe` if the name belongs to
    /// anything else.
    ///
    /// - Parameter mustExist: throws `resumeDataUnusable` if the file does not exist.
    init(in home: DownloadPlace, named name: String? = nil, url: String, mustExist: Bool = false) throws(HTTPFailure) {
        self.home = home
        self.name = name ?? PartialName.partial(of: home.name)
        let opened = try Self.open(self.name, in: home, mustExist: mustExist)
        descriptor = opened.file
        var journal = DownloadJournal(url: url, partial: "", boot: Clocks.boot)
        journal.partial = "\(home.directory == "/" ? "" : home.directory)/\(self.name)"
        state = Mutex(State(journal: journal))
        if !opened.isNew { journalFile.sweep() }
    }

    /// Closing may wait for the file system, so another thread does that. The lock is released at once.
    deinit {
        guard descriptor >= 0 else { return }
        flock(descriptor, LOCK_UN)
        BlockingThreads.files.run(for: .service, isOwed: true) { [descriptor] in Glibc.close(descriptor) }
    }

    private static func open(
        _ name: String, in home: DownloadPlace, mustExist: Bool
    ) throws(HTTPFailure) -> (file: CInt, isNew: Bool) {
        let path = "\(home.directory)/\(name)"
        for _ in 0..<100 {
            let file: CInt
            var isNew = false
            var wasThere = mustExist
            do throws(FileFault) {
                if !mustExist, let made = try Self.created(name, in: home) {
                    file = made
                    isNew = true
                } else {
                    wasThere = true
                    file = try CheckedFile.open(name, in: home.descriptor, O_RDWR, [.regular, .owned, .noLink])
                }
            } catch .system(ENOENT) where wasThere {
                // finished by another download in the meantime
                if !mustExist { continue }
                throw HTTPFailure(
                    .resumeDataUnusable, "what had come is not there any more: \(path)", details: [.path(path)])
            } catch .system(let code) {
                errno = code
                throw failure("could not write \(path)", path)
            } catch {
                throw Self.unsafe(path, error)
            }
            if flock(file, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                Glibc.close(file)
                throw HTTPFailure(
                    .destinationBusy, "another download to \(home.path) is under way", retryable: true,
                    details: [.path(home.path)])
            }
            var opened = stat()
            var named = stat()
            let isThere =
                fstat(file, &opened) == 0 && fstatat(home.descriptor, name, &named, AT_SYMLINK_NOFOLLOW) == 0
            // another download may have finished the file just now: then the name is gone, or belongs to another file
            if isThere, opened.st_ino == named.st_ino, opened.st_dev == named.st_dev, opened.st_nlink == 1 {
                return (file, isNew)
            }
            // a second link to a published file: the destination keeps the bytes
            if isThere, opened.st_nlink > 1 { home.remove(name) }
            Glibc.close(file)
        }
        throw HTTPFailure(.destinationBusy, "others keep replacing \(path)", details: [.path(home.path)])
    }

    /// Nil if the name is taken.
    private static func created(_ name: String, in home: DownloadPlace) throws(FileFault) -> CInt? {
        do throws(FileFault) {
            return try CheckedFile.open(name, in: home.descriptor, O_RDWR | O_CREAT | O_EXCL, .own)
        } catch .system(EEXIST) {
            return nil
        }
    }

    // MARK: content

    var held: HeldRanges { state.withLock { $0.held } }

    var journal: DownloadJournal { state.withLock { $0.journal } }

    /// Takes over the ranges of an earlier download; false if none are usable.
    func adopt(_ journal: DownloadJournal) -> Bool {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { return false }
        let held = journal.held(size: Int64(info.st_size), boot: Clocks.boot)
        state.withLock { state in
            let partial = state.journal.partial
            state.journal = journal
            state.journal.partial = partial
            state.journal.boot = Clocks.boot
            state.journal.held = journal.boot == Clocks.boot ? journal.held.clipped(to: Int64(info.st_size)) : held
            state.held = held
            state.isJournaled = true
        }
        return held.count > 0
    }

    /// The journal beside the file; nil if missing, damaged, not a file of this user, or of another partial file.
    func written() -> DownloadJournal? {
        guard let journal = journalFile.read() else { return nil }
        let slash = journal.partial.lastIndex(of: "/").map { journal.partial.index(after: $0) }
        return slash.map { String(journal.partial[$0...]) } == name ? journal : nil
    }

    /// Empties the file and its journal.
    ///
    /// - Parameter isResumable: whether a later download can go on with the bytes that follow.
    func reset(isResumable: Bool = true, _ change: (inout DownloadJournal) -> Void) throws(HTTPFailure) {
        let wasJournaled = state.withLock { state in
            defer {
                state.isResumable = isResumable
                state.held = HeldRanges()
                state.journal.held = HeldRanges()
                state.era &+= 1
                state.isLost = false
                state.isJournaled = false
                state.nextSave = ContinuousClock.now
                change(&state.journal)
            }
            return state.isJournaled
        }
        // an old journal must never meet new bytes, not even after a power loss
        journalFile.remove()
        if wasJournaled { home.sync() }
        if ftruncate(descriptor, 0) != 0 { throw Self.failure("could not write \(path)", path) }
    }

    func change(_ change: (inout DownloadJournal) -> Void) { state.withLock { change(&$0.journal) } }

    // MARK: writing

    /// Writes the pieces in sequence. Bytes written before a failure count.
    func write(_ pieces: [ByteBuffer], at start: Int64) throws(HTTPFailure) {
        if isLost { try sync(fdatasync) }
        try checkLength()
        var offset = start
        var first = 0
        var skip = 0
        while first < pieces.count {
            let got = Self.write(pieces[first...], skipping: skip, to: descriptor, at: offset)
            if got < 0, errno == EINTR { continue }
            if got <= 0 {
                let failure = writeFailure()
                note(start..<offset)
                throw failure
            }
            offset &+= Int64(got)
            skip += got
            while first < pieces.count, skip >= pieces[first].readableBytes {
                skip -= pieces[first].readableBytes
                first += 1
            }
        }
        digests.withLock { digests in
            guard !digests.isEmpty, digests.count == start else { return }
            for piece in pieces { piece.withUnsafeReadableBytes { digests.update($0) } }
        }
        note(start..<offset)
    }

    private static func write(
        _ pieces: ArraySlice<ByteBuffer>, skipping: Int, to file: CInt, at offset: Int64
    ) -> Int {
        var vectors: [iovec] = []
        vectors.reserveCapacity(min(pieces.count, 64))
        var skip = skipping
        for piece in pieces.prefix(64) {
            // the pieces outlive the call: no other code changes or frees them
            piece.withUnsafeReadableBytes { bytes in
                let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + skip })
                vectors.append(iovec(iov_base: base, iov_len: bytes.count - skip))
            }
            skip = 0
        }
        return withExtendedLifetime(pieces) { pwritev(file, vectors, CInt(vectors.count), off_t(offset)) }
    }

    private func note(_ range: Range<Int64>) {
        let isFirst = state.withLock { state in
            state.held.insert(range)
            guard !state.isJournaled, isWorthAJournal(state) else { return false }
            state.isJournaled = true
            state.nextSave = .now + .seconds(Self.saveSeconds)
            return true
        }
        if isFirst { writeJournal(isDurable: false) }
    }

    /// A file that is already complete needs no journal.
    private func isWorthAJournal(_ state: State) -> Bool {
        state.isResumable && !state.journal.boot.isEmpty && state.journal.version.total != state.held.count
    }

    /// Drops a range with wrong bytes, so that it is requested again.
    func drop(_ range: Range<Int64>) {
        let (end, wasJournaled) = state.withLock { state in
            state.held.remove(range)
            state.journal.held.remove(range)
            state.era &+= 1
            return (state.journal.isSequential ? state.held.end : nil, state.isJournaled)
        }
        digests.withLock { $0 = DigestRunner() }
        // the length of a sequential file tells how much is held
        if let end { _ = ftruncate(descriptor, off_t(end)) }
        // an old journal must never vouch for these bytes
        if wasJournaled { writeJournal(isDurable: true) }
    }

    /// Whether the journal is due to be saved.
    func isSaveDue() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard state.isJournaled, !state.isSaving, now >= state.nextSave else { return false }
            state.isSaving = true
            state.nextSave = now + .seconds(Self.saveSeconds)
            return true
        }
    }

    /// Whether written bytes may have been lost: then the file can be neither resumed nor published.
    var isLost: Bool { state.withLock { $0.isLost } }

    /// Syncs the file to disk. Throws `fileWriteFailed`, and keeps throwing until `reset`.
    func sync(_ call: (CInt) -> CInt) throws(HTTPFailure) {
        let wasLost = isLost
        if !wasLost, call(descriptor) == 0 { return }
        if wasLost { errno = EIO }
        let failure = Self.failure("the medium may not have taken all of \(path)", path)
        state.withLock { $0.isLost = true }
        throw failure
    }

    /// Syncs the file to disk, and saves the journal.
    @discardableResult
    func save() -> Bool {
        let (held, era) = state.withLock { ($0.held, $0.era) }
        defer { state.withLock { $0.isSaving = false } }
        guard (try? sync(fdatasync)) != nil else { return false }
        state.withLock { state in
            // a later save may have been faster
            guard state.era == era, held.count > state.journal.held.count else { return }
            state.journal.held = held
        }
        return writeJournal(isDurable: true)
    }

    @discardableResult
    private func writeJournal(isDurable: Bool) -> Bool {
        // in sequence, so that the last write has the newest state
        isGone.withLock { isGone in
            let journal = state.withLock { $0.journal }
            return !isGone && journalFile.write(journal, isDurable: isDurable)
        }
    }

    /// Lets later ranges be written before earlier ranges. The journal says so first: else the size of the file would
    /// count as the number of held bytes. False if the journal cannot be written.
    func divide() -> Bool {
        let isTold = state.withLock { state in
            defer { state.journal.isSequential = false }
            return !state.journal.isSequential || !state.isJournaled
        }
        if isTold || writeJournal(isDurable: true) { return true }
        change { $0.isSequential = true }
        return false
    }

    /// Ends the journal, because the file is published or to be removed. False if called before.
    func close() -> Bool {
        let isFirst = isGone.withLock { isGone in
            defer { isGone = true }
            return !isGone
        }
        if isFirst { journalFile.remove() }
        return isFirst
    }

    /// Releases the lock without further writes: the next download to the same destination may begin.
    func letGo() {
        let wasThere = isGone.withLock { isGone in
            defer { isGone = true }
            return !isGone
        }
        if wasThere { giveBackRoom() }
        flock(descriptor, LOCK_UN)
    }

    // MARK: failures

    /// Throws `insufficientSpace` if the file system has no room for the bytes.
    func checkRoom(for bytes: Int64) throws(HTTPFailure) {
        guard let available, bytes > available else { return }
        throw noRoom(bytes, available)
    }

    /// Bytes available to this user on the file system.
    private var available: Int64? {
        var info = statvfs()
        guard fstatvfs(descriptor, &info) == 0 else { return nil }
        let (bytes, overflow) = UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize))
        return overflow ? nil : Int64(exactly: bytes)
    }

    private func writeFailure() -> HTTPFailure {
        let code = errno
        if code == ENOSPC || code == EDQUOT {
            let (total, held) = state.withLock { ($0.journal.version.total, $0.held.count) }
            var failure = noRoom(total.map { max(0, $0 &- held) }, available ?? 0)
            let reason = String(cString: strerror(code))
            failure.underlying = HTTPFailure.Underlying(.posix, Int(code), reason)
            return failure
        }
        errno = code
        return Self.failure("could not write \(path)", path)
    }

    private func noRoom(_ needed: Int64?, _ available: Int64) -> HTTPFailure {
        let wants = needed.map { "needs \($0) more bytes" } ?? "needs more room"
        var details: [FailureDetail] = [.path(home.path), .available(available)]
        if let needed { details.append(.needed(needed)) }
        return HTTPFailure(
            .insufficientSpace,
            "\(home.path) \(wants), and its file system has \(available) left; make room and resume",
            sent: .sent, details: details)
    }

    static func failure(_ what: String, _ path: String) -> HTTPFailure {
        var failure = DownloadPlace.failure(what, path)
        failure.kind = .fileWriteFailed
        return failure
    }

    private static func unsafe(_ path: String, _ fault: FileFault) -> HTTPFailure {
        HTTPFailure(
            .destinationUnsafe,
            "the download would be written to \(path), and \(fault): remove it, or choose another path",
            details: [.path(path)])
    }
}
