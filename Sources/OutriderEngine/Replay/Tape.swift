// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP
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
        /// Values that are masked wherever they occur: the mask has them once the cassette is open.
        package var secrets = FoundSecrets()
        /// Why the mask leaves a secret in the file, so that nothing is recorded; nil for most.
        package var maskFault: String?
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
        /// Has tokens that the service holds.
        var broker: CredentialBroker?
        var memory = TapeMemory()
    }

    /// Bytes of attempts that may be held in memory.
    private static let mostHeld = 256 << 20

    package let settings: Settings
    /// The entries that cannot be played.
    package let unusable: [(number: Int, reason: String)]
    /// Nil if nothing is recorded.
    private let queue: RecordingQueue?
    let state: Mutex<State>

    /// - Parameter played: nil if nothing is played.
    private init(
        _ settings: Settings, _ contents: CassetteReader.Contents,
        _ played: (index: CassetteIndex, mask: CassetteMask)?, _ file: CassetteFile?
    ) {
        self.settings = settings
        unusable = contents.unusable
        queue = file.map { RecordingQueue($0) }
        var state = State(mask: played?.mask ?? settings.mask)
        state.playback = played.map { Playback($0.index, settings.afterLast) }
        self.state = Mutex(state)
    }

    /// Opens a cassette. Throws `cassetteUnusable`.
    package static func open(_ settings: Settings, for client: ClientKey) async throws(HTTPFailure) -> Tape {
        try await offLoop(for: client) { () throws(HTTPFailure) in try openNow(settings) }
    }

    /// The bytes of the file; 0 if there is none.
    package static func size(of path: String, for client: ClientKey) async -> Int {
        await offLoop(owedTo: client) {
            let size = (try? PosixFile.regularSize(of: path)) ?? nil
            return size.map { Int(clamping: $0) } ?? 0
        }
    }

    /// The same, blocking.
    package static func openNow(_ given: Settings) throws(HTTPFailure) -> Tape {
        let path = given.path
        var settings = given
        settings.mask.values.add(given.secrets)
        switch settings.mode {
        case .none:
            let contents = try read(path)
            return Tape(settings, contents, try index(contents, settings), nil)
        case .once:
            var info = stat()
            if stat(path, &info) == 0, info.st_size > 0 {
                let contents = try read(path)
                // a run that ended before its first response left a file without entries
                if contents.hasEntries || contents.end == nil {
                    return Tape(settings, contents, try index(contents, settings), nil)
                }
            }
            let (file, contents) = try opened(settings, isNew: false)
            return Tape(settings, contents, contents.hasEntries ? try index(contents, settings) : nil, file)
        case .newEpisodes:
            let (file, contents) = try opened(settings, isNew: false)
            return Tape(settings, contents, try index(contents, settings), file)
        case .all:
            let (file, contents) = try opened(settings, isNew: true)
            return Tape(settings, contents, nil, file)
        }
    }

    /// The file that is recorded to, and what it has.
    private static func opened(
        _ settings: Settings, isNew: Bool
    ) throws(HTTPFailure) -> (file: CassetteFile, contents: CassetteReader.Contents) {
        // before the entries of an older recording are removed
        if let fault = settings.maskFault { throw .unusableCassette(settings.path, fault) }
        return try CassetteFile.open(settings.path, isNew: isNew, program: settings.program)
    }

    /// Tokens of these credentials are masked, too, whatever request they occur in.
    package func hide(_ broker: CredentialBroker) { state.withLock { $0.broker = broker } }

    // MARK: how it stands

    package var records: Bool { queue != nil }
    /// Whether requests may get responses of the file.
    var plays: Bool { state.withLock { ($0.playback?.count ?? 0) > 0 } }
    package var counts: Counts { state.withLock { $0.counts } }
    package var failure: HTTPFailure? { state.withLock { $0.failure } }
    package var entries: Int { state.withLock { $0.playback?.count ?? 0 } }
    /// Entries that were not played, by method and URL.
    package func unused(most: Int) -> [String] { state.withLock { $0.playback?.unused(most: most) ?? [] } }

    /// Waits until the requests that have ended are written, so that counts include each request that has its reply.
    package func settle() async { await queue?.settle() }

    /// Writes what waits, syncs it to disk, and lets go of the file. Requests that are under way are no longer recorded.
    package func stop() async {
        state.withLock { $0.isStopped = true }
        countNoMore()
        queue?.add { file in
            do throws(HTTPFailure) {
                try file.checkName()
            } catch {
                self.state.withLock { self.fail(error, &$0) }
            }
        }
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
        let plays = state.withLock { state in
            // a cassette that only plays goes on without its session: nothing may reach the network
            state.playback != nil && !(state.isStopped && isRecording)
        }
        guard plays, let (step, origin) = simpleStep(request, attempt) ?? step(request, attempt) else {
            guard isRecording, state.withLock({ $0.failure == nil && !$0.isStopped }) else { return .network }
            guard !request.isCoded else {
                undecodable("the request body of \(request.title)")
                return .network
            }
            return .record(Recording(self, request, attempt))
        }
        switch step {
        case .miss(let miss):
            return .work {
                var failure = miss.failure
                // an archive may have a secret in a place that only the request tells
                failure.message = self.state.withLock { $0.mask }.values.replaced(failure.message)
                return .fail(failure)
            }
        case .play(let entry, let turn):
            let isRecoded = entry.entry.isRecoded(for: attempt)
            if let script = entry.script, !isRecoded { return .script(script, origin) }
            let key = attempt.fields.first("Sec-WebSocket-Key")
            let host = attempt.url.host
            let script = { @Sendable (body: [UInt8]) in
                let fitting = isRecoded ? entry.entry.recoded(body, host: host) : (entry: entry.entry, body: body)
                let script = AttemptScript(fitting.entry, body: fitting.body, self.settings.timing, key: key)
                return ReplayStage.Course.script(PreparedScript(script), origin)
            }
            let name = entry.entry.bodyFile
            if name == nil, !isRecoded { return script(entry.entry.body) }
            return .work {
                do throws(HTTPFailure) {
                    guard let name else { return script(entry.entry.body) }
                    return script(try Self.body(name, self.settings.path))
                } catch {
                    return .fail(error)
                }
            } refused: {
                self.giveBack(turn)
            }
        }
    }

    /// The response of a request, or why there is none; nil if the request is to be recorded. With it the key of a
    /// request whose token may be refused.
    private func step(_ request: ReplayRequest, _ attempt: Attempt) -> (Playback.Step, AttemptScript.Origin?)? {
        var found = settings.mask.secrets(of: request)
        if let login = attempt.login?.credential { found.add(username: login.username, password: login.password) }
        let masked = learn(found).masked(settings.matcher.compared(request))
        let key = settings.matcher.key(of: masked)
        let isRecording = records
        let step = state.withLock { state -> Playback.Step? in
            if isRecording, state.playback?.has(key) == false { return nil }
            let step = state.playback?.take(key, masked)
            if case .play = step { state.counts.played += 1 } else { state.counts.missed += 1 }
            return step
        }
        let isKept = request.fields.contains("Authorization")
        return step.map { ($0, isKept ? AttemptScript.Origin(key) : nil) }
    }

    /// Takes secrets to be replaced from now on. Searching for them takes longer, and is done without the lock.
    private func learn(_ found: FoundSecrets) -> CassetteMask {
        var secrets = found
        for token in state.withLock({ $0.broker })?.tokens ?? [] { secrets.add(token) }
        return state.withLock { [secrets] state in
            if state.mask.values.lacks(secrets) {
                state.mask.values.add(secrets)
                state.memory.count(state.mask.values)
            }
            return state.mask
        }
    }

    /// Whether a response is left for the attempt, which was made before.
    func has(_ request: ReplayRequest) -> Bool {
        let mask = state.withLock { $0.mask }
        return has(settings.matcher.key(of: mask.masked(settings.matcher.compared(request))))
    }

    /// The same for a request whose key is known.
    func has(_ key: RequestMatcher.Key) -> Bool { state.withLock { $0.playback?.has(key) ?? false } }

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
            // more is held now: no memory is given back here
            _ = state.memory.wait(state.held)
            if state.held <= Self.mostHeld { return true }
            fail(
                HTTPFailure.unusableCassette(
                    settings.path, "more than \(Self.mostHeld >> 20) MiB wait to be recorded: record fewer requests"),
                &state)
            return false
        }
    }

    func tooLong(_ title: String, _ most: Int) {
        state.withLock {
            fail(
                HTTPFailure.unusableCassette(settings.path, "the body of \(title) is longer than \(most >> 20) MiB"),
                &$0)
        }
    }

    /// A body has a coding in which secrets cannot be found: its exchange is not recorded.
    private func undecodable(_ what: String) {
        state.withLock {
            fail(
                HTTPFailure.unusableCassette(
                    settings.path,
                    "\(what) cannot be decoded, so that its secrets cannot be masked: list its URL in except"),
                &$0)
        }
    }

    func letGo(_ count: Int) {
        // given back behind the lock
        _ = state.withLock { state in
            state.held -= count
            return state.memory.wait(state.held)
        }
    }

    private func fail(_ failure: HTTPFailure, _ state: inout State) { state.failure = state.failure ?? failure }

    /// Writes an attempt that has ended, on another thread.
    func write(_ draft: CassetteEntry, login: (username: String, password: String)?, held: Int) {
        let isTaken = state.withLock { !$0.isStopped && $0.failure == nil }
        guard let queue, isTaken else { return letGo(held) }
        queue.add { file in
            defer { self.letGo(held) }
            guard self.failure == nil else { return }
            var found = self.settings.mask.secrets(of: draft.request)
            if let login { found.add(username: login.username, password: login.password) }
            _ = self.learn(found)
            guard let decoded = draft.decoded(self.settings.mask) else {
                return self.undecodable("the body of \(draft.request.title)")
            }
            let mask = self.learn(self.settings.mask.secrets(of: draft.head?.fields ?? [], body: decoded.body))
            if let failure = self.lacksRoom(for: mask.values) {
                return self.state.withLock { self.fail(failure, &$0) }
            }
            do throws(HTTPFailure) {
                var entry = draft.masked(mask, decoded: decoded)
                try Self.moveBodies(&entry, to: file)
                let time = WallTime(milliseconds: entry.started)
                try file.append(CassetteWriter.line(entry, time: time.text))
                self.state.withLock { $0.counts.recorded += 1 }
            } catch {
                self.state.withLock { self.fail(error, &$0) }
            }
        }
    }

    /// Writes a request that has ended, and that has no secrets. A request that the cassette has is not recorded anew.
    func record(_ entry: CassetteEntry) {
        let masked = state.withLock { $0.mask }.masked(settings.matcher.compared(entry.request))
        let key = settings.matcher.key(of: masked)
        let isKnown = state.withLock { state in
            guard state.playback?.has(key) == true else { return false }
            _ = state.playback?.take(key, masked)
            return true
        }
        guard !isKnown else { return }
        let count = entry.body.count + entry.request.body.count
        if hold(count) { write(entry, login: nil, held: count) } else { letGo(count) }
    }

    private static func moveBodies(_ entry: inout CassetteEntry, to file: CassetteFile) throws(HTTPFailure) {
        if entry.body.count > CassetteWriter.longestInline { entry.bodyFile = try file.keep(entry.body) }
        if entry.request.body.count > CassetteWriter.longestInline {
            entry.requestFile = try file.keep(entry.request.body)
        }
    }
}
