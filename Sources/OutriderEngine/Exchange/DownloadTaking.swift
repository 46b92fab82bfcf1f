// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Writes the bytes of a download to its file.
extension DownloadRun {
    /// Writes the body to the file. False if a part is still missing and must be requested. Bytes received before a
    /// failure are written.
    ///
    /// - Parameter isCached: the body comes from a cache, or goes into one.
    func receive(
        _ body: any AttemptResponseBody, _ attempt: Attempt, isCached: Bool
    ) async throws(HTTPFailure) -> Bool {
        guard let file else { return true }
        let (coming, fresh) = state.withLock { ($0.coming, $0.fresh) }
        guard let coming else {
            try await finish(body, file)
            return true
        }
        try await begin(file, fresh, url: attempt.url.description)
        let before = file.held.count
        // segments would fetch what a cache has, and leave it with a part
        let pieces = isCached ? [coming] : divided(coming, file)
        if pieces.count > 1, await offLoop(owedTo: exchange.quota.client, { file.divide() }) {
            try await take(body, pieces, attempt, file)
        } else {
            try await take(body, coming, to: file)
            try await verify(file, coming, body)
        }
        return try await isWhole(body, file, attempt, since: before)
    }

    /// Clears the file for a new version, or makes sure that the disk has room for the rest.
    private func begin(_ file: PartialFile, _ fresh: ResourceVersion?, url: String) async throws(HTTPFailure) {
        let before = file.held.count
        if fresh != nil, before > 0 {
            exchange.tell(.downloadRestarted) { .partial(path: file.path, before, of: total) }
        }
        let (checksums, isResumable) = state.withLock { ($0.checksums, $0.isResumable) }
        let algorithms = Set(checksums.map(\.algorithm))
        try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in
            if let fresh {
                try file.reset(isResumable: isResumable) { journal in
                    journal.version = fresh
                    journal.url = url
                    journal.isSequential = true
                }
            }
            try file.catchUp(algorithms, to: file.held.prefix)
        }
        state.withLock { state in
            state.stage = .taking
            state.received = file.held.count
        }
        exchange.continues(at: file.held.count)
        if file.held.count > 0 {
            exchange.tell(.downloadResumed) { .partial(path: file.path, file.held.count, of: total) }
        }
        guard let total else { return }
        try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in
            try file.checkRoom(for: max(0, total &- file.held.count))
        }
    }

    /// Writes a range of the file from a body; the rest of a longer body is not read.
    private func take(
        _ body: any AttemptResponseBody, _ range: Range<Int64>, to file: PartialFile, stopsEarly: Bool = false
    ) async throws(HTTPFailure) {
        let writer = PartWriter(file, range, exchange.environment.executors, for: exchange.quota.client)
        var left = range.upperBound &- range.lowerBound
        do throws(HTTPFailure) {
            while !(stopsEarly && left == 0), var chunk = try await body.next() {
                if chunk.readableBytes > left {
                    guard stopsEarly, let length = Int(exactly: left), let part = chunk.readSlice(length: length) else {
                        throw HTTPFailure(
                            .malformedResponse, "the server sent more bytes than it had announced", phase: .response,
                            sent: .sent)
                    }
                    chunk = part
                }
                let count = chunk.readableBytes
                left &-= Int64(count)
                try await writer.take(chunk)
                if !advanced(by: count, of: body) { await exchange.untilResumed() }
                try await pause(after: count)
                if let cancellation = exchange.cancellation { throw cancellation }
            }
        } catch {
            // the received bytes are worth keeping, whatever the failure
            do throws(HTTPFailure) { try await writer.finish() } catch {}
            throw error
        }
        try await writer.finish()
        if stopsEarly { body.abandon() }
    }

    // MARK: segments

    /// The ranges to request at the same time; a single range for a single request.
    private func divided(_ coming: Range<Int64>, _ file: PartialFile) -> [Range<Int64>] {
        let isFirst = state.withLock { state in
            defer { state.isDivided = true }
            return !state.isDivided && state.isResumable
        }
        let version = file.journal.version
        guard options.segments > 1, isFirst, let total, version.isRecognizable else { return [coming] }
        var gaps = file.held.gaps(of: total)
        // the present body brings the first piece
        guard let first = gaps.first, first.lowerBound == coming.lowerBound else { return [coming] }
        gaps[0] = first.lowerBound..<min(first.upperBound, coming.upperBound)
        return SegmentPlan.pieces(gaps, options.segments)
    }

    private func take(
        _ body: any AttemptResponseBody, _ pieces: [Range<Int64>], _ attempt: Attempt, _ file: PartialFile
    ) async throws(HTTPFailure) {
        let executor = exchange.environment.executors.current
        let attempts = AttemptGroup()
        exchange.join(attempts)
        let failure = await withTaskGroup(of: HTTPFailure?.self) { group in
            for piece in pieces.dropFirst() {
                group.addTask(executorPreference: executor) { await self.fetch(piece, like: attempt, file, attempts) }
            }
            var first: HTTPFailure?
            do throws(HTTPFailure) {
                try await take(body, pieces[0], to: file, stopsEarly: true)
                try await verify(file, pieces[0], body)
            } catch {
                first = error
                group.cancelAll()
            }
            while let failure = await group.next() {
                guard first == nil, let failure else { continue }
                first = failure
                group.cancelAll()
            }
            return first
        }
        if let failure { throw failure }
    }

    /// Fetches a piece by a request of its own. A missing range is left for later requests.
    private func fetch(
        _ piece: Range<Int64>, like attempt: Attempt, _ file: PartialFile, _ attempts: AttemptGroup
    ) async -> HTTPFailure? {
        do throws(HTTPFailure) {
            let attempt = try await request(piece, like: attempt)
            let response = try await exchange.transport.send(attempt, observer: SegmentObserver(attempts))
            defer {
                let timeline = response.body.timeline
                exchange.environment.counters.moved(sent: timeline.bytesSent, received: timeline.bytesReceived)
            }
            let rule = ResumeRule(
                requested: piece, version: file.journal.version, held: file.held, isVerified: !options.checksums.isEmpty
            )
            let verdict = rule.verdict(status: response.status, response.fields, length: response.body.expectedBytes)
            guard case .part(let range, _) = verdict else {
                response.body.abandon()
                return nil
            }
            note(response.fields, .part)
            try await take(response.body, range, to: file)
            try await verify(file, range, partChecksums(response.fields), response.body)
            return nil
        } catch {
            return error
        }
    }

    /// The request for a piece, with the credentials and the cookies that the exchange sends.
    private func request(_ piece: Range<Int64>, like given: Attempt) async throws(HTTPFailure) -> Attempt {
        var attempt = given
        attempt.fields.remove("If-Range")
        attempt.fields.set("Range", "bytes=\(piece.lowerBound)-\(piece.upperBound &- 1)")
        if !attempt.fields.contains("Authorization"), let signature = exchange.authenticator?.early(attempt.url) {
            var hash = ""
            if let algorithm = signature.bodyHash {
                hash = try await BodyHash.of(attempt.body, algorithm, for: exchange.quota.client) ?? ""
            }
            let digest = signature.digest(method: attempt.method, uri: attempt.url.target, bodyHash: hash)
            attempt.fields.list.append(.init("Authorization", digest?.field ?? FieldText(signature.basicValue)))
            attempt.login = AppliedCredential(signature.credential, signature.scheme)
        }
        if let signature = exchange.proxySignature(for: attempt) { _ = attempt.sign(forProxy: signature) }
        // the jar was read for the first request
        if let applied = exchange.cookies?.apply(to: attempt, evenIfOld: true) { attempt = applied.attempt }
        return attempt
    }

    // MARK: completion

    /// Whether the file is complete; verifies a complete file, and throws if a digest does not match.
    private func isWhole(
        _ body: any AttemptResponseBody, _ file: PartialFile, _ attempt: Attempt, since before: Int64
    ) async throws(HTTPFailure) -> Bool {
        let held = file.held
        // a part of unknown total length need not be the last (RFC 9110 section 15.3.7): the next response tells
        let isPart = state.withLock { $0.covers } == .part
        if total.map({ !held.gaps(of: $0).isEmpty }) ?? isPart {
            guard held.count > before else {
                throw HTTPFailure(
                    .connectionLost, "the server sends none of the missing bytes", phase: .response, sent: .sent)
            }
            // safe: an Int is an Int64
            if total == nil, let most = attempt.maximumBodyBytes, held.count > Int64(most) {
                throw CachedAttempt.tooLong(most, attempt.url.host)
            }
            return false
        }
        try await finish(body, file)
        return true
    }

    private func finish(_ body: any AttemptResponseBody, _ file: PartialFile) async throws(HTTPFailure) {
        state.withLock { state in
            state.stage = .complete
            state.total = file.held.end
            state.received = file.held.end
        }
        note(body.trailers, state.withLock { $0.covers })
        let checksums = state.withLock { $0.checksums }
        if !checksums.isEmpty { try await verify(file, checksums) }
        _ = advanced(by: 0, of: body)
    }
}

extension DownloadRun {
    /// Throws `checksumMismatch` for a complete part that does not match its response's digests.
    private func verify(
        _ file: PartialFile, _ part: Range<Int64>, _ declared: [Checksum], _ body: any AttemptResponseBody
    ) async throws(HTTPFailure) {
        let checksums = declared + partChecksums(body.trailers)
        guard !checksums.isEmpty, file.held.contains(part) else { return }
        try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in
            try file.check(checksums, of: part)
        }
    }

    /// The same for the body of the exchange's own request, unless the body was the whole file, or longer than the
    /// part.
    private func verify(
        _ file: PartialFile, _ part: Range<Int64>, _ body: any AttemptResponseBody
    ) async throws(HTTPFailure) {
        let (covers, coming, declared) = state.withLock { ($0.covers, $0.coming, $0.partChecksums) }
        if covers == .part, coming == part { try await verify(file, part, declared, body) }
    }

    private func verify(_ file: PartialFile, _ checksums: [Checksum]) async throws(HTTPFailure) {
        let number = exchange.attemptNumber
        do throws(HTTPFailure) {
            try await offLoop(for: exchange.quota.client) { () throws(HTTPFailure) in try file.check(checksums) }
        } catch {
            exchange.tell(.downloadVerified) { .outcome(error, attempt: number) }
            throw error
        }
        exchange.tell(.downloadVerified) { .outcome(nil, attempt: number) }
    }
}

/// Ignores the events of a segment's request, which is suspended with its exchange.
private final class SegmentObserver: AttemptObserver {
    private let attempts: AttemptGroup

    init(_ attempts: AttemptGroup) { self.attempts = attempts }

    func sending(_ control: any AttemptControl) { attempts.add(control) }

    func bodySent(_ bytes: Int64, onWire: Int64?) {}

    func bodyEnded() {}

    func informational(_: ResponseHead) {}
}
