// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// The file of one exchange that is a download, through all its attempts: what is asked for, where it is written, what
/// becomes of it. What an answer means is for ResumeRule to say.
final class DownloadRun: Sendable {
    /// How far the body that is coming now belongs to the file.
    enum Stage: Sendable {
        /// Nothing of this attempt has touched the file.
        case untouched
        /// Its bytes are being written.
        case taking
        /// Everything is there.
        case complete
    }

    /// What the content of an answer is to the file.
    enum Covers: Sendable {
        case whole
        /// A part, as one of several that the file is made of.
        case part
        /// All of the file, which is a part of what the server has: the caller asked for that.
        case ownPart

        /// What fields of the answer say of the file as a whole (RFC 9530 section 2).
        func declared(_ fields: HTTPFields) -> [Checksum] {
            self == .ownPart ? Checksum.ofContent(fields) : Checksum.declared(fields, isWhole: self == .whole)
        }
    }

    struct State {
        var opened: DownloadFiles.Opened?
        var stage = Stage.untouched
        /// What is asked for, where that is not the whole.
        var asked: Range<Int64>?
        /// What the body brings.
        var coming: Range<Int64>?
        /// The version of the whole that is coming; nil for a part.
        var fresh: ResourceVersion?
        /// What the digests of that answer are about.
        var covers = Covers.whole
        /// Digests of the part that is coming.
        var partChecksums: [Checksum] = []
        /// Whether what is there is of an answer that can be gone on with.
        var isResumable = false
        var checksums: [Checksum]
        /// Segments were tried: what is missing after that is asked for piece by piece.
        var isDivided = false
        var hasRestarted = false
        var suggestedName: String?
        var total: Int64?
        var received: Int64 = 0
        /// Where it goes, said when it was all there.
        var destination: ArrivedFile.Destination?
        var pacer: RatePacer?
    }

    let wishes: DownloadSpec.Wishes
    let exchange: Exchange
    private let observer: (any ExchangeObserver)?
    private let began = ContinuousClock.now
    private let isOwnRange: Bool
    /// The caller undoes codings, so that lengths and digests of what is sent are not those of the file.
    private let isDecoded: Bool
    let state: Mutex<State>

    init(_ spec: DownloadSpec, _ exchange: Exchange, _ observer: (any ExchangeObserver)?) {
        wishes = spec.wishes
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
        var state = State(checksums: spec.wishes.checksums)
        state.pacer = spec.wishes.rateLimit.map { RatePacer(bytesPerSecond: $0, now: 0) }
        self.state = Mutex(state)
    }

    /// The length of the file, where it is known.
    var total: Int64? { state.withLock { $0.total } }

    var file: PartialFile? { state.withLock { $0.opened?.file } }

    private var isVerified: Bool { !wishes.checksums.isEmpty }

    // MARK: asking

    /// Opens the file, where its name is known, and asks for what is missing of it.
    func prepare(_ attempt: inout Attempt) async throws(HTTPFailure) {
        if file == nil, hasName { try await open(suggested: nil, attempt) }
        let asked = missing()
        let hasEnd = asked.map { $0.upperBound < .max } ?? false
        state.withLock { state in
            state.asked = asked
            state.stage = .untouched
            state.coming = nil
            state.fresh = nil
        }
        guard !isOwnRange else { return }
        attempt.fields.remove("Range")
        attempt.fields.remove("If-Range")
        guard let asked, let file else { return }
        let last = hasEnd ? "\(asked.upperBound &- 1)" : ""
        attempt.fields.add("Range", "bytes=\(asked.lowerBound)-\(last)")
        if wishes.sendsCondition, let condition = file.journal.version.condition {
            attempt.fields.add("If-Range", condition)
        }
        exchange.sends(attempt)
    }

    private var hasName: Bool {
        if case .directory(_, nil) = wishes.place, wishes.journal == nil { return false }
        return true
    }

    private func open(suggested: String?, _ attempt: Attempt) async throws(HTTPFailure) {
        let wishes = wishes
        let workspace = exchange.surroundings.workspace
        let url = attempt.url.description
        let opened = try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in
            try DownloadFiles.open(wishes, suggested: suggested, url: url, workspace)
        }
        state.withLock { state in
            state.opened = opened
            state.isResumable = opened.hasSome
            state.total = opened.hasSome ? opened.file.journal.version.total : nil
        }
        exchange.tell(.downloadOpened) { .partial(path: opened.file.path, opened.file.held.count, of: total) }
    }

    /// What to ask for, where some is there and can be gone on with; nil for the whole.
    private func missing() -> Range<Int64>? {
        guard !isOwnRange, !isDecoded, let file, state.withLock({ $0.isResumable }) else { return nil }
        let held = file.held
        let version = file.journal.version
        guard held.count > 0, !file.isLost, ResumeRule.mayResume(version, isVerified: isVerified) else { return nil }
        guard let gap = held.gaps(of: version.total).first else { return held.end..<Int64.max }
        // to the end of the file is asked for without an end
        return gap.upperBound == version.total ? gap.lowerBound..<Int64.max : gap
    }

    // MARK: the answer

    /// What the answer is to the file. False where it is of no use, and the same must be asked again, in another way. Throws
    /// why it cannot go on.
    func accept(_ answer: AttemptResponse, _ attempt: Attempt) async throws(HTTPFailure) -> Bool {
        let name = FileName.suggested(answer.fields, url: attempt.url)
        state.withLock { $0.suggestedName = name }
        if file == nil {
            try await open(suggested: name, attempt)
            // only now it is known which file that is: if some of it is there, the rest is asked for
            if answer.status == 200, missing() != nil { return false }
        }
        guard let file else { return true }
        let asked = state.withLock { $0.asked }
        let rule = ResumeRule(
            asked: asked, version: file.journal.version, held: file.held, whenChanged: wishes.whenChanged,
            isVerified: isVerified)
        let verdict = rule.verdict(
            status: answer.status, answer.fields, length: answer.body.expectedBytes, isOwnRange: isOwnRange)
        return try follow(verdict, answer, attempt, file)
    }

    private func follow(
        _ verdict: ResumeRule.Verdict, _ answer: AttemptResponse, _ attempt: Attempt, _ file: PartialFile
    ) throws(HTTPFailure) -> Bool {
        switch verdict {
        case .whole(var version):
            if isDecoded { version.total = answer.body.expectedBytes }
            let covers: Covers = answer.status == 206 ? .ownPart : .whole
            note(answer.fields, covers)
            state.withLock { state in
                state.covers = covers
                state.fresh = version
                state.coming = 0..<(version.total ?? .max)
                state.total = version.total
                state.isResumable = answer.status == 200 && !isOwnRange && (version.coding == nil || !isDecoded)
            }
            return true
        case .part(let range, let total):
            note(answer.fields, .part)
            let checksums = partChecksums(answer.fields)
            if let total { file.change { $0.version.total = total } }
            state.withLock { state in
                state.covers = .part
                state.coming = range
                state.partChecksums = checksums
                state.total = total ?? state.total
            }
            return true
        case .complete:
            note(answer.fields, .part)
            state.withLock { state in
                state.covers = .part
                state.total = file.held.end
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

    /// Remembers what fields of an answer say of the file.
    func note(_ fields: HTTPFields, _ covers: Covers) {
        guard wishes.checksDigests, !isDecoded else { return }
        let declared = covers.declared(fields)
        state.withLock { state in
            for checksum in declared where !state.checksums.contains(checksum) { state.checksums.append(checksum) }
        }
    }

    /// What fields of an answer say of the part that it brings.
    func partChecksums(_ fields: HTTPFields) -> [Checksum] {
        wishes.checksDigests && !isDecoded ? Checksum.ofContent(fields) : []
    }

    // MARK: progress

    /// So many bytes more have come. False while it is suspended.
    func advanced(by bytes: Int) -> Bool {
        let received = state.withLock { state in
            state.received &+= Int64(bytes)
            return state.received
        }
        let (report, goesOn) = exchange.received(received, onWire: nil)
        if let report { observer?.glimpsed(.progress(report)) }
        return goesOn
    }

    /// Seconds to wait for the sake of the rate limit.
    func pause(after bytes: Int) -> Double {
        let now = (ContinuousClock.now - began).seconds
        return state.withLock { $0.pacer?.wait(after: bytes, now: now) ?? 0 }
    }

    /// Another attempt begins.
    func forget() {
        state.withLock { state in
            // an answer that was all there and was not liked is nothing to go on with
            if state.stage == .complete { state.isResumable = false }
            state.stage = .untouched
            state.isDivided = false
            state.hasRestarted = false
            state.destination = nil
            state.checksums = wishes.checksums
        }
    }
}
