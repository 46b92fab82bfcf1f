// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderFiles
import OutriderHTTP
import OutriderTransport
import Synchronization

/// The hidden file that a download is written to, with the journal beside it. Locked for as long as it is open, against other
/// downloads to the same place, in this process and in others. All calls block.
final class PartialFile: Sendable {
    struct State {
        var journal: DownloadJournal
        /// What is written, whether it has reached the medium or not.
        var held = HeldRanges()
        var isJournaled = false
        /// When the journal is to be written again.
        var nextSave = ContinuousClock.now
        var isSaving = false
        /// The medium refused what was written. Nobody knows what of it is there: when it is asked again, it says that all is
        /// well, for it tells of a loss once.
        var isLost = false
        /// Changes when something that was held is not any more: what was seen before is then no use.
        var era = 0
    }

    /// The directory that it lies in, and the name of what it will be.
    let home: DownloadPlace
    let name: String
    let descriptor: CInt
    let state: Mutex<State>
    let digests = Mutex(DigestRunner())
    /// Whether the file is finished or removed. Held while the journal is written, which must not come after that.
    private let isGone = Mutex(false)

    /// Seconds between two writings of the journal: so much is asked for again after the machine has lost its power.
    private static let saveSeconds = 5.0

    private var journalFile: JournalFile { JournalFile(beside: name, in: home) }

    var path: String { "\(home.directory == "/" ? "" : home.directory)/\(name)" }

    /// Throws destinationBusy while somebody else writes it, destinationUnsafe where something else has its name.
    ///
    /// - Parameter mustExist: throws resumeDataUnusable instead of making it.
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

    /// Closing may wait for the file system, so it happens away from the event loop. The lock is given back at once.
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
            do throws(FileFault) {
                if !mustExist, let made = try Self.created(name, in: home) {
                    file = made
                    isNew = true
                } else {
                    file = try CheckedFile.open(name, in: home.descriptor, O_RDWR, [.regular, .owned, .noLink])
                }
            } catch .system(ENOENT) {
                // finished by another download since it was found
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
            // another download may have finished it just now: then the name is gone, or that of another file
            if isThere, opened.st_ino == named.st_ino, opened.st_dev == named.st_dev, opened.st_nlink == 1 {
                return (file, isNew)
            }
            // a second name of a finished file: that one keeps the bytes
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

    // MARK: what is there

    var held: HeldRanges { state.withLock { $0.held } }

    var journal: DownloadJournal { state.withLock { $0.journal } }

    /// Takes over what an earlier download has left; false if there is nothing that can be used.
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

    /// The journal beside it; nil if it is missing, damaged, not a file of this user, or of another partial file.
    func written() -> DownloadJournal? {
        guard let journal = journalFile.read() else { return nil }
        let slash = journal.partial.lastIndex(of: "/").map { journal.partial.index(after: $0) }
        return slash.map { String(journal.partial[$0...]) } == name ? journal : nil
    }

    /// Begins it anew: nothing of what was there stays.
    func reset(_ change: (inout DownloadJournal) -> Void) throws(HTTPFailure) {
        let wasJournaled = state.withLock { state in
            defer {
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
        // an old journal must never meet new bytes, not even after the power was lost
        journalFile.remove()
        if wasJournaled { home.sync() }
        if ftruncate(descriptor, 0) != 0 { throw Self.failure("could not write \(path)", path) }
    }

    func change(_ change: (inout DownloadJournal) -> Void) { state.withLock { change(&$0.journal) } }

    // MARK: writing

    /// Writes the pieces there, one after the other. What was written before a failure counts.
    func write(_ pieces: [ByteBuffer], at start: Int64) throws(HTTPFailure) {
        if isLost { try sync(fdatasync) }
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
            // the pieces outlive the call: nobody else changes or frees them
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

    /// What has come whole by now needs none.
    private func isWorthAJournal(_ state: State) -> Bool {
        !state.journal.boot.isEmpty && state.journal.version.total != state.held.count
    }

    /// What was written there is wrong, and is to be asked for again.
    func drop(_ range: Range<Int64>) {
        let (end, wasJournaled) = state.withLock { state in
            state.held.remove(range)
            state.journal.held.remove(range)
            state.era &+= 1
            return (state.journal.isSequential ? state.held.end : nil, state.isJournaled)
        }
        digests.withLock { $0 = DigestRunner() }
        // the length says how much of a sequential file is there
        if let end { _ = ftruncate(descriptor, off_t(end)) }
        // an old journal must never vouch for these bytes
        if wasJournaled { writeJournal(isDurable: true) }
    }

    /// Whether it is time to write down how far it has come.
    func isSaveDue() -> Bool {
        let now = ContinuousClock.now
        return state.withLock { state in
            guard state.isJournaled, !state.isSaving, now >= state.nextSave else { return false }
            state.isSaving = true
            state.nextSave = now + .seconds(Self.saveSeconds)
            return true
        }
    }

    /// Whether bytes that were written may have been lost: nothing can be gone on with, and nothing gets a name.
    var isLost: Bool { state.withLock { $0.isLost } }

    /// Waits until all that was written is on the medium. Throws fileWriteFailed, from then on and until it is begun anew.
    func sync(_ call: (CInt) -> CInt) throws(HTTPFailure) {
        let wasLost = isLost
        if !wasLost, call(descriptor) == 0 { return }
        if wasLost { errno = EIO }
        let failure = Self.failure("the medium may not have taken all of \(path)", path)
        state.withLock { $0.isLost = true }
        throw failure
    }

    /// Waits until all that was written is on the medium, and writes that down.
    @discardableResult
    func save() -> Bool {
        let (held, era) = state.withLock { ($0.held, $0.era) }
        defer { state.withLock { $0.isSaving = false } }
        guard (try? sync(fdatasync)) != nil else { return false }
        state.withLock { state in
            // another save may have begun later, and been faster
            guard state.era == era, held.count > state.journal.held.count else { return }
            state.journal.held = held
        }
        return writeJournal(isDurable: true)
    }

    @discardableResult
    private func writeJournal(isDurable: Bool) -> Bool {
        // one after the other, so that what is written last is what is so
        isGone.withLock { isGone in
            let journal = state.withLock { $0.journal }
            return !isGone && journalFile.write(journal, isDurable: isDurable)
        }
    }

    /// The file has its name, or is to be removed: nothing more is written down of it. False if that was said before.
    func close() -> Bool {
        let isFirst = isGone.withLock { isGone in
            defer { isGone = true }
            return !isGone
        }
        if isFirst { journalFile.remove() }
        return isFirst
    }

    /// Nothing more is written: the next download to the same place may go on.
    func letGo() {
        let wasThere = isGone.withLock { isGone in
            defer { isGone = true }
            return !isGone
        }
        if wasThere { giveBackRoom() }
        flock(descriptor, LOCK_UN)
    }

    // MARK: failures

    /// Room for so many more bytes; throws insufficientSpace.
    func checkRoom(for bytes: Int64) throws(HTTPFailure) {
        guard let available, bytes > available else { return }
        throw noRoom(bytes, available)
    }

    /// Bytes that the file system has left for us.
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
