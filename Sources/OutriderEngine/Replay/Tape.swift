// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
package import OutriderHTTP
import OutriderTransport
import Synchronization

/// A cassette that a session plays, records, or both.
package final class Tape: Sendable {
    /// What becomes of a request that the cassette knows, or does not know.
    package enum Mode: String, Sendable, CaseIterable {
        /// Records to a new file; plays one that is there, and fails what it does not know.
        case once
        /// Plays only.
        case none
        /// Plays what the file has, and records the rest.
        case newEpisodes
        /// Records everything, to a file that begins anew.
        case all
    }

    package struct Settings: Sendable {
        package var path: String
        package var mode = Mode.once
        package var matcher = RequestMatcher()
        package var mask = CassetteMask()
        package var timing = ReplayTiming.none
        package var afterLast = Playback.Repeat.fail
        /// URLs that the cassette is for; all without any.
        package var only: [URLPattern] = []
        /// URLs that it is not for: they go to the network.
        package var except: [URLPattern] = []
        /// The version of this program.
        package var program = ""

        package init(path: String) { self.path = path }
    }

    package struct Counts: Sendable {
        package var played = 0
        package var recorded = 0
        package var missed = 0
    }

    struct State: Sendable {
        /// Nil if nothing is played.
        var playback: Playback?
        var mask: CassetteMask
        var counts = Counts()
        /// Why nothing more is recorded.
        var failure: HTTPFailure?
        /// Bytes of attempts that are recorded, or wait to be written.
        var held = 0
        var isStopped = false
    }

    /// Bytes of attempts that may be held in memory.
    private static let mostHeld = 256 << 20

    package let settings: Settings
    /// The entries that cannot be played.
    package let unusable: [(number: Int, reason: String)]
    /// Nil if nothing is recorded.
    private let queue: RecordingQueue?
    let state: Mutex<State>

    private init(
        _ settings: Settings, _ contents: CassetteReader.Contents, plays: Bool, _ file: CassetteFile?
    ) {
        self.settings = settings
        unusable = contents.unusable
        queue = file.map { RecordingQueue($0) }
        var state = State(mask: settings.mask)
        if plays {
            state.playback = Playback(contents.entries, settings.matcher, settings.afterLast, path: settings.path)
        }
        self.state = Mutex(state)
    }

    /// Opens a cassette. Throws `cassetteUnusable`.
    package static func open(_ settings: Settings, for client: ClientKey) async throws(HTTPFailure) -> Tape {
        try await offLoop(for: client) { () throws(HTTPFailure) in try openNow(settings) }
    }

    /// The same, blocking.
    package static func openNow(_ settings: Settings) throws(HTTPFailure) -> Tape {
        let path = settings.path
        switch settings.mode {
        case .none: return Tape(settings, try withBodies(try read(path), path), plays: true, nil)
        case .once:
            var info = stat()
            if stat(path, &info) == 0, info.st_size > 0 {
                let contents = try read(path)
                // a run that ended before its first response left a file without entries
                if contents.hasEntries || contents.end == nil {
                    return Tape(settings, try withBodies(contents, path), plays: true, nil)
                }
            }
            let (file, contents) = try CassetteFile.open(path, isNew: false, program: settings.program)
            return Tape(settings, contents, plays: contents.hasEntries, file)
        case .newEpisodes:
            let (file, contents) = try CassetteFile.open(path, isNew: false, program: settings.program)
            return Tape(settings, try withBodies(contents, path), plays: true, file)
        case .all:
            let (file, contents) = try CassetteFile.open(path, isNew: true, program: settings.program)
            return Tape(settings, contents, plays: false, file)
        }
    }

    private static func read(_ path: String) throws(HTTPFailure) -> CassetteReader.Contents {
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDONLY, [.regular])
        } catch {
            throw unusable(path, "it cannot be read: \(error.description)", posix: error.code)
        }
        defer { close(file) }
        return try parse(try CassetteFile.bytes(of: file, path), path)
    }

    static func parse(_ bytes: [UInt8], _ path: String) throws(HTTPFailure) -> CassetteReader.Contents {
        do throws(CassetteReader.Fault) {
            return try CassetteReader.read(bytes)
        } catch {
            throw unusable(path, error.message)
        }
    }

    /// Reads the bodies that are files of their own.
    private static func withBodies(
        _ contents: CassetteReader.Contents, _ path: String
    ) throws(HTTPFailure) -> CassetteReader.Contents {
        guard contents.entries.contains(where: { $0.bodyFile != nil || $0.requestFile != nil }) else { return contents }
        let slash = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        var contents = contents
        var known: [String: [UInt8]] = [:]
        func bytes(of name: String) throws(HTTPFailure) -> [UInt8] {
            if let found = known[name] { return found }
            let found = try body(slash + name, path)
            known[name] = found
            return found
        }
        for index in contents.entries.indices {
            if let name = contents.entries[index].bodyFile { contents.entries[index].body = try bytes(of: name) }
            if let name = contents.entries[index].requestFile {
                contents.entries[index].request.body = try bytes(of: name)
            }
        }
        return contents
    }

    private static func body(_ place: String, _ path: String) throws(HTTPFailure) -> [UInt8] {
        do throws(FileFault) {
            let file = try CheckedFile.open(place, O_RDONLY, [.regular])
            defer { close(file) }
            do throws(HTTPFailure) { return try CassetteFile.bytes(of: file, place) } catch { throw .system(EIO) }
        } catch {
            throw unusable(path, "its body \(place) cannot be read: \(error.description)", posix: error.code)
        }
    }

    static func unusable(_ path: String, _ why: String, posix: CInt? = nil) -> HTTPFailure {
        HTTPFailure(
            .cassetteUnusable, "the cassette \(path): \(why)", retryable: false,
            // safe: CInt is narrower
            underlying: posix.map { .init(.file, Int($0), String(cString: strerror($0))) }, details: [.path(path)])
    }

    // MARK: how it stands

    package var records: Bool { queue != nil }
    package var counts: Counts { state.withLock { $0.counts } }
    package var failure: HTTPFailure? { state.withLock { $0.failure } }
    package var entries: Int { state.withLock { $0.playback?.count ?? 0 } }
    /// Entries that were not played, by method and URL.
    package func unused(most: Int) -> [String] { state.withLock { $0.playback?.unused(most: most) ?? [] } }

    /// Writes what waits, syncs it to disk, and lets go of the file. Requests that are under way are no longer recorded.
    package func stop() async {
        state.withLock { $0.isStopped = true }
        await queue?.end()
    }

    /// The same, blocking: for the end of the process.
    package func stopNow() {
        state.withLock { $0.isStopped = true }
        queue?.endNow()
    }

    // MARK: attempts

    /// Whether an attempt is one that the cassette is for.
    func covers(_ url: String) -> Bool {
        if settings.except.contains(where: { $0.fits(url) }) { return false }
        return settings.only.isEmpty || settings.only.contains { $0.fits(url) }
    }

    /// What becomes of an attempt.
    func course(of attempt: Attempt, _ request: ReplayRequest) -> ReplayStage.Course {
        guard covers(request.url) else { return .network }
        if attempt.duplex != nil { return .fail(Self.stream(settings.path)) }
        let isRecording = records
        let step = state.withLock { state -> Playback.Step? in
            // a cassette that only plays goes on without its session: nothing may reach the network
            if state.isStopped, isRecording { return nil }
            guard state.playback != nil else { return nil }
            state.mask.learn(from: request)
            if let login = attempt.login?.credential {
                state.mask.learn(username: login.username, password: login.password)
            }
            let masked = state.mask.masked(request)
            if isRecording, state.playback?.has(masked) == false { return nil }
            let step = state.playback?.take(masked)
            if case .play = step { state.counts.played += 1 } else { state.counts.missed += 1 }
            return step
        }
        switch step {
        case .play(let entry):
            return .script(
                AttemptScript(
                    entry, body: entry.body, settings.timing, key: attempt.fields.first("Sec-WebSocket-Key")))
        case .miss(let failure): return .fail(failure)
        case nil:
            guard isRecording, state.withLock({ $0.failure == nil && !$0.isStopped }) else { return .network }
            return .record(Recording(self, request, attempt))
        }
    }

    /// Whether a response is left for the attempt.
    func has(_ request: ReplayRequest) -> Bool {
        state.withLock { $0.playback?.has($0.mask.masked(request)) ?? false }
    }

    /// Whether no request of the cassette's can reach the network.
    var isClosed: Bool { !records }

    private static func stream(_ path: String) -> HTTPFailure {
        HTTPFailure(
            .replayMiss,
            "\(path) cannot have TCP streams: open them in a session without a cassette, or list their URLs in except",
            retryable: false)
    }

    // MARK: recording

    /// Counts bytes that are held for an attempt. False if there are too many.
    func hold(_ count: Int) -> Bool {
        state.withLock { state in
            state.held += count
            if state.held <= Self.mostHeld { return true }
            fail(
                Self.unusable(
                    settings.path, "more than \(Self.mostHeld >> 20) MiB wait to be recorded: record fewer requests"),
                &state)
            return false
        }
    }

    func tooLong(_ title: String, _ most: Int) {
        state.withLock {
            fail(Self.unusable(settings.path, "the body of \(title) is longer than \(most >> 20) MiB"), &$0)
        }
    }

    func letGo(_ count: Int) { state.withLock { $0.held -= count } }

    private func fail(_ failure: HTTPFailure, _ state: inout State) { state.failure = state.failure ?? failure }

    /// Writes an attempt that has ended, on another thread.
    func write(_ draft: CassetteEntry, login: (username: String, password: String)?, held: Int) {
        let isTaken = state.withLock { !$0.isStopped && $0.failure == nil }
        guard let queue, isTaken else { return letGo(held) }
        queue.add { file in
            defer { self.letGo(held) }
            let mask = self.state.withLock { state -> CassetteMask? in
                if state.failure != nil { return nil }
                if let login { state.mask.learn(username: login.username, password: login.password) }
                state.mask.learn(from: draft.request)
                if let head = draft.head { state.mask.learn(from: head.fields, body: draft.body) }
                return state.mask
            }
            guard let mask else { return }
            if mask.values.isFull {
                let failure = Self.unusable(
                    self.settings.path, "it has more secrets than can be masked: record fewer requests")
                return self.state.withLock { self.fail(failure, &$0) }
            }
            do throws(HTTPFailure) {
                var entry = draft.masked(mask)
                try Self.moveBodies(&entry, to: file)
                let time = WallTime(milliseconds: entry.started)
                try file.append(CassetteWriter.line(entry, time: time.text))
                self.state.withLock { $0.counts.recorded += 1 }
            } catch {
                self.state.withLock { self.fail(error, &$0) }
            }
        }
    }

    private static func moveBodies(_ entry: inout CassetteEntry, to file: CassetteFile) throws(HTTPFailure) {
        if entry.body.count > CassetteWriter.longestInline { entry.bodyFile = try file.keep(entry.body) }
        if entry.request.body.count > CassetteWriter.longestInline {
            entry.requestFile = try file.keep(entry.request.body)
        }
    }
}

/// Work on a cassette's file, one piece after the other, on another thread.
final class RecordingQueue: Sendable {
    typealias Work = @Sendable (CassetteFile) -> Void

    private struct State {
        var file: CassetteFile?
        var work: [Work] = []
        var isRunning = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ file: CassetteFile) { state = Mutex(State(file: file)) }

    func add(_ work: @escaping Work) {
        let starts = state.withLock { state in
            state.work.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { BlockingThreads.files.run(for: .service, isOwed: true) { self.run() } }
    }

    private func run() {
        while true {
            let (work, file) = state.withLock { state -> ([Work], CassetteFile?) in
                defer { state.work = [] }
                if state.work.isEmpty { state.isRunning = false }
                return (state.work, state.file)
            }
            if work.isEmpty { break }
            if let file { work.forEach { $0(file) } }
        }
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Waits for the work, and closes the file.
    func end() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if !state.isRunning { return true }
                state.waiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
        await offLoop(owedTo: .service) { self.close() }
    }

    /// The same, blocking.
    func endNow() {
        while state.withLock({ $0.isRunning }) { usleep(200) }
        close()
    }

    private func close() {
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        file?.sync()
    }
}
