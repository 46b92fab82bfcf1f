// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The file of a download through all attempts of its exchange: which range to request, where to write, when to stop.
/// `ResumeRule` judges the responses.
final class DownloadRun: Sendable {
    /// The state of the file within the present attempt.
    enum Stage: Sendable {
        /// No byte of this attempt was written.
        case untouched
        /// The body is being written.
        case taking
        /// The file is complete.
        case complete
    }

    /// The relation of a response's content to the file.
    enum Covers: Sendable {
        case whole
        /// A part of several.
        case part
        /// The whole file, which is a range of the resource: the caller requested that range.
        case ownPart

        /// The digests in the fields of a response that apply to the whole file (RFC 9530 section 2).
        func declared(_ fields: HTTPFields) -> [Checksum] {
            self == .ownPart ? Checksum.ofContent(fields) : Checksum.declared(fields, isWhole: self == .whole)
        }
    }

    struct State {
        var opened: DownloadFiles.Opened?
        var stage = Stage.untouched
        /// The range to request; nil for the whole.
        var requested: Range<Int64>?
        /// The range of the present body.
        var coming: Range<Int64>?
        /// The version of a whole that is arriving; nil for a part.
        var fresh: ResourceVersion?
        /// The content to which the response's digests apply.
        var covers = Covers.whole
        /// Digests of the present part.
        var partChecksums: [Checksum] = []
        /// Whether the existing bytes belong to a response that can be resumed.
        var isResumable = false
        var checksums: [Checksum]
        /// Whether segments were tried: later gaps are requested in sequence.
        var isDivided = false
        var hasRestarted = false
        /// Whether a 416 has shown that the existing bytes are the whole.
        var isConfirmed = false
        var suggestedName: String?
        var total: Int64?
        var received: Int64 = 0
        /// The destination that the callback chose after the file was complete.
        var destination: ArrivedFile.Destination?
        var pacer: RatePacer?
        /// The total time of the present attempt in seconds, and its end, if the exchange is not held further.
        var limit: (total: Double, end: ContinuousClock.Instant, held: Duration)?
        /// The page with which the server refused the rest of the file; nil unless it did.
        var page: [UInt8]?
    }

    let options: DownloadSpec.Options
    let exchange: Exchange
    private let observer: (any ExchangeObserver)?
    private let began = ContinuousClock.now
    private let isOwnRange: Bool
    /// Whether the content coding is decoded: lengths and digests of the coded content do not apply to the file.
    private let isDecoded: Bool
    let state: Mutex<State>

    init(_ spec: DownloadSpec, _ exchange: Exchange, _ observer: (any ExchangeObserver)?) {
        options = spec.options
        self.exchange = exchange
        self.observer = observer
        var isOwnRange = false
        var isDecoded = false
        if case .success(let attempt) = exchange.built {
            isOwnRange = attempt.fields.contains("Range")
            isDecoded = attempt.decodesContent
        }
        self.isOwnRange = isOwnRange
        self.isDecoded = isDecoded
        var state = State(checksums: spec.options.checksums)
        state.pacer = spec.options.rateLimit.map { RatePacer(bytesPerSecond: $0, now: 0) }
        self.state = Mutex(state)
    }

    /// The length of the file, if known.
    var total: Int64? { state.withLock { $0.total } }

    var file: PartialFile? { state.withLock { $0.opened?.file } }

    /// Whether a 416 has shown that the file is complete: the head of such a response says nothing about the file.
    var isConfirmed: Bool { state.withLock { $0.isConfirmed } }

    /// Whether the body of the response is the page of an error, and none of the file.
    var isRefused: Bool { state.withLock { $0.page != nil } }

    private var isVerified: Bool { !options.checksums.isEmpty }

    // MARK: requests

    /// Opens the file if its name is known, and requests the missing range.
    func prepare(_ attempt: inout Attempt) async throws(HTTPFailure) {
        if file == nil, hasName { try await open(suggested: nil, attempt) }
        let requested = missing(of: attempt)
        let hasEnd = requested.map { $0.upperBound < .max } ?? false
        state.withLock { state in
            state.requested = requested
            state.stage = .untouched
            state.coming = nil
            state.fresh = nil
            state.isConfirmed = false
        }
        guard !isOwnRange else { return }
        attempt.fields.remove("Range")
        attempt.fields.remove("If-Range")
        guard let requested, let file else { return }
        let last = hasEnd ? "\(requested.upperBound &- 1)" : ""
        attempt.fields.add("Range", "bytes=\(requested.lowerBound)-\(last)")
        if options.sendsCondition, let condition = file.journal.version.condition {
            attempt.fields.add("If-Range", condition)
        }
        exchange.sends(attempt)
    }

    private var hasName: Bool {
        if case .directory(_, nil) = options.place, options.journal == nil { return false }
        return true
    }

    private func open(suggested: String?, _ attempt: Attempt) async throws(HTTPFailure) {
        let options = options
        let workspace = exchange.environment.workspace
        let url = attempt.url.description
        let asked = (try? exchange.built.get()).map { attempt -> String in
            // a resume without a URL of its own requests the last URL that responded, for the same resource
            if let journal = options.journal, journal.url == attempt.url.description, let former = journal.asked {
                return former
            }
            return DownloadJournal.mark(of: attempt.url)
        }
        let home = options.journal?.home ?? (try? exchange.built.get())?.url.origin
        let opened = try await openFiles(for: exchange.quota.client) { () throws(HTTPFailure) in
            try DownloadFiles.open(options, suggested: suggested, url: url, asked: asked, home: home, workspace)
        }
        state.withLock { state in
            state.opened = opened
            state.isResumable = opened.hasSome
            state.total = opened.hasSome ? opened.file.journal.version.total : nil
        }
        exchange.tell(.downloadOpened) { .partial(path: opened.file.path, opened.file.held.count, of: total) }
    }

    /// The missing range if existing bytes can be resumed; nil for the whole.
    private func missing(of attempt: Attempt) -> Range<Int64>? {
        guard Self.mayRange(attempt), !isOwnRange, !isDecoded, let file, state.withLock({ $0.isResumable }) else {
            return nil
        }
        let held = file.held
        let version = file.journal.version
        guard held.count > 0, !file.isLost, ResumeRule.mayResume(version, isVerified: isVerified) else { return nil }
        guard let gap = held.gaps(of: version.total).first else { return held.end..<Int64.max }
        // a range to the end of the file is requested without an end
        return gap.upperBound == version.total ? gap.lowerBound..<Int64.max : gap
    }

    /// Whether servers know ranges of the response: of GET only (RFC 9110 section 14.2). Another method may have an
    /// effect each time, and is not sent for the rest of a file.
    private static func mayRange(_ attempt: Attempt) -> Bool { attempt.method == "GET" }

    // MARK: responses

    /// Applies a response to the file. False if the response is of no use, and a different request must follow. Throws
    /// if the download cannot continue.
    func accept(_ response: AttemptResponse, _ attempt: Attempt) async throws(HTTPFailure) -> Bool {
        let name = FileName.suggested(response.fields, url: attempt.url)
        state.withLock { $0.suggestedName = name }
        if file == nil {
            try await open(suggested: name, attempt)
            // only now the name of the file is known: if a part exists, the rest is requested
            if response.status != 206, missing(of: attempt) != nil {
                if response.status == 200 { return false }
                throw ResumeRule.refused(response.status)
            }
        }
        guard let file else { return true }
        let requested = state.withLock { $0.requested }
        let rule = ResumeRule(
            requested: requested, version: file.journal.version, held: file.held, whenChanged: options.whenChanged,
            isVerified: isVerified)
        let verdict = rule.verdict(
            status: response.status, response.fields, length: response.body.expectedBytes, isOwnRange: isOwnRange)
        if verdict == .notModified { await drop(file) }
        if [200, 206, 416].contains(response.status) { try await take(name: name) }
        return try follow(verdict, response, attempt, file)
    }

    /// Takes the suggested name for a resumed private file that goes to a directory.
    private func take(name: String) async throws(HTTPFailure) {
        guard let opened = state.withLock({ $0.opened }), opened.isNameless,
            case .directory(let directory, _) = options.place
        else { return }
        let wanted = options
        let place = try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in
            let named = try DownloadPlace(
                directory: try DownloadPlace.absolute(directory), name: name, replaces: wanted.replaces,
                creating: wanted.createsDirectories)
            try named.check()
            return named
        }
        state.withLock { state in
            state.opened?.place = place
            state.opened?.isNameless = false
        }
        opened.file.change { $0.target = place.path }
    }

    private func follow(
        _ verdict: ResumeRule.Verdict, _ response: AttemptResponse, _ attempt: Attempt, _ file: PartialFile
    ) throws(HTTPFailure) -> Bool {
        switch verdict {
        case .whole(var version):
            if isDecoded { version.total = response.body.expectedBytes }
            let covers: Covers = response.status == 206 ? .ownPart : .whole
            note(response.fields, covers)
            state.withLock { state in
                state.covers = covers
                state.fresh = version
                state.coming = 0..<(version.total ?? .max)
                state.total = version.total
                let isWhole = response.status == 200 && !isOwnRange && (version.coding == nil || !isDecoded)
                state.isResumable = isWhole && Self.mayRange(attempt)
            }
            return true
        case .part(let range, let total):
            note(response.fields, .part)
            let checksums = partChecksums(response.fields)
            let url = attempt.url.description
            file.change { journal in
                // a former URL may have expired
                journal.url = url
                journal.version.total = total ?? journal.version.total
            }
            state.withLock { state in
                state.covers = .part
                state.coming = range
                state.partChecksums = checksums
                state.total = total ?? state.total
            }
            return true
        case .notModified: return true
        case .complete:
            note(response.fields, .part)
            state.withLock { state in
                state.covers = .part
                state.total = file.held.end
                state.isConfirmed = true
            }
            return true
        case .restart:
            let isFirst = state.withLock { state in
                defer { (state.hasRestarted, state.isResumable) = (true, false) }
                return !state.hasRestarted
            }
            guard isFirst else {
                throw HTTPFailure(.malformedResponse, "the server keeps sending parts that do not fit", sent: .sent)
            }
            return false
        case .fail(let failure): throw failure
        }
    }

    /// Collects the digests of the whole file from a response's fields.
    func note(_ fields: HTTPFields, _ covers: Covers) {
        guard options.checksDigests, !isDecoded else { return }
        let declared = covers.declared(fields)
        state.withLock { state in
            for checksum in declared where !state.checksums.contains(checksum) { state.checksums.append(checksum) }
        }
    }

    /// The digests of the present part in a response's fields.
    func partChecksums(_ fields: HTTPFields) -> [Checksum] {
        options.checksDigests && !isDecoded ? Checksum.ofContent(fields) : []
    }

    // MARK: progress

    /// Counts received bytes of a body. False while the exchange is suspended.
    func advanced(by bytes: Int, of body: any AttemptResponseBody) -> Bool {
        let received = state.withLock { state in
            state.received &+= Int64(bytes)
            return state.received
        }
        let (report, goesOn) = exchange.received(received, onWire: body.wireBytes?.got)
        if let report { observer?.receiveDroppable(.progress(report)) }
        return goesOn
    }

    /// Sets the total time of the present attempt, of which so many seconds have passed.
    func limit(to total: Double, after elapsed: Double) {
        let now = ContinuousClock.now
        let limit = (total, now + .seconds(total - elapsed), exchange.held(at: now))
        state.withLock { $0.limit = limit }
    }

    /// Waits as the rate limit asks for, or throws when the time of the attempt is over: a piece may be worth minutes,
    /// and the whole body may have arrived.
    func pause(after bytes: Int) async throws(HTTPFailure) {
        let start = ContinuousClock.now
        let (pause, limit) = state.withLock { state in
            (state.pacer?.wait(after: bytes, now: (start - began).seconds) ?? 0, state.limit)
        }
        var left = pause
        while left > 0.001, exchange.cancellation == nil, !Task.isCancelled {
            try? await Task.sleep(for: .seconds(min(left, 0.2)))
            let now = ContinuousClock.now
            left = pause - (now - start).seconds
            guard let limit, now - (exchange.held(at: now) - limit.held) >= limit.end else { continue }
            let most = Int64(exactly: limit.total).map { "\($0)" } ?? "\(limit.total)"
            throw HTTPFailure(
                .timedOut, "the download took more than \(most) s in all; it ended while waiting for rateLimit",
                phase: .total, sent: .sent)
        }
    }

    /// Resets the state for another attempt.
    func forget() {
        state.withLock { state in
            // a complete response that a retrier rejected cannot be resumed
            if state.stage == .complete { state.isResumable = false }
            state.stage = .untouched
            state.isDivided = false
            state.hasRestarted = false
            state.destination = nil
            state.page = nil
            state.checksums = options.checksums
        }
    }
}
