// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// The end of a download: publishes its file, keeps it for a resume, or removes it.
extension DownloadRun {
    struct Ending {
        var body = ExchangeOutcome.Body.none
        var size = 0
        var failure: HTTPFailure?
        var resumeData: String?
        var suggestedName: String?
    }

    /// The file in its temporary place, for reviews before the download is published.
    func whole(contentType: String?) -> ExchangeOutcome.Body {
        guard let file else { return .none }
        return .kept(
            KeptBody(
                arrivedAt: file.path, size: Int(clamping: file.held.count), quota: exchange.quota,
                contentType: contentType))
    }

    /// The arrived file, for the callback that chooses a destination.
    var arrived: ArrivedFile? {
        let name = state.withLock { $0.suggestedName }
        return file.map { ArrivedFile(path: $0.path, size: $0.held.count, suggestedName: name ?? FileName.fallback) }
    }

    /// Replaces the destination of the download.
    func send(to destination: ArrivedFile.Destination) { state.withLock { $0.destination = destination } }

    /// Removes the file of a response without content, for which nothing is published.
    func drop(_ file: PartialFile) async {
        state.withLock { state in
            (state.opened, state.isResumable) = (nil, false)
            (state.total, state.received) = (nil, 0)
        }
        await offLoop(owedTo: exchange.quota.client) { file.discard() }
        file.letGo()
    }

    /// Publishes the file under its name, or keeps partial content that a resume can use.
    func end(_ failure: HTTPFailure?, contentType: String?) async -> Ending {
        var ending = Ending(failure: failure, suggestedName: state.withLock { $0.suggestedName })
        guard let file else {
            showPage(in: &ending, contentType)
            return ending
        }
        defer { file.letGo() }
        // from here on a cancellation has no effect: the file is published, or the failure reported
        ending.failure = exchange.settle() ?? failure
        ending.size = Int(clamping: file.held.count)
        if ending.failure == nil {
            do throws(HTTPFailure) {
                ending.body = try await publish(file, contentType)
                return ending
            } catch {
                ending.failure = error
            }
        }
        await keep(file, &ending, contentType)
        showPage(in: &ending, contentType)
        return ending
    }

    private func publish(_ file: PartialFile, _ contentType: String?) async throws(HTTPFailure) -> ExchangeOutcome.Body
    {
        let (opened, destination) = state.withLock { ($0.opened, $0.destination) }
        guard let opened else { return .none }
        let size = Int(clamping: file.held.count)
        let quota = exchange.quota
        let isTemporary = opened.isTemporary && destination == nil
        if isTemporary, !quota.takeFile(size) {
            throw HTTPFailure(
                .limitExceeded,
                "the kept files would exceed \(quota.limits.files) bytes; give a destination, or release some",
                sent: .sent)
        }
        do throws(HTTPFailure) {
            let path = try await offLoop(for: quota.client) { () throws(HTTPFailure) in
                var place = opened.place
                if let destination {
                    place = try DownloadPlace(
                        path: destination.path, replaces: destination.replaces,
                        creating: destination.createsDirectories)
                }
                try file.publish(to: place)
                return place.path
            }
            exchange.tell(.downloadMoved) { .file(path: path, size: Int64(size)) }
            let body =
                isTemporary
                ? KeptBody(file: path, size: size, quota: quota, contentType: contentType)
                : KeptBody(arrivedAt: path, size: size, quota: quota, contentType: contentType)
            return .kept(body)
        } catch {
            if isTemporary { quota.giveFile(size) }
            throw error
        }
    }

    /// Limit of a body that the outcome contains although its file was not published: the body often explains the
    /// failure.
    private static let shownBytes = 1 << 20

    private func keep(_ file: PartialFile, _ ending: inout Ending, _ contentType: String?) async {
        guard let failure = ending.failure else { return }
        if isKept(after: failure, file), await isSaved(file) {
            ending.resumeData = file.journal.resumeData
            exchange.tell(.downloadKept) { .partial(path: file.path, file.held.count, of: total) }
            return
        }
        let (stage, isMoveFault) = (state.withLock { $0.stage }, failure.kind.isAboutPlace)
        if stage == .complete, !isMoveFault, failure.kind != .checksumMismatch, ending.size <= Self.shownBytes {
            ending.body = await unnamed(file, contentType)
        }
        await offLoop(owedTo: exchange.quota.client) { file.discard() }
    }

    /// Whether a partial file exists to resume from. A failure to write its journal does not matter here.
    private func isSaved(_ file: PartialFile) async -> Bool {
        await offLoop(owedTo: exchange.quota.client) {
            guard file.isNamed == true else { return false }
            _ = file.save()
            return !file.isLost
        }
    }

    /// Reads the page with which the server refuses the rest of the file, up to the limit, and for a second: a retry
    /// need not wait for a slow page. Returns whether the page is complete.
    func keepPage(_ body: any AttemptResponseBody, most: Int?) async -> Bool {
        let most = min(Self.shownBytes, most ?? .max)
        let patience = exchange.environment.executors.later(seconds: 1) { body.abandon() }
        defer { patience.cancel() }
        var page: [UInt8] = []
        var isWhole = false
        do throws(HTTPFailure) {
            while !isWhole {
                guard let chunk = try await body.next() else {
                    isWhole = true
                    continue
                }
                let room = most - page.count
                page.append(contentsOf: chunk.readableBytesView.prefix(room))
                if chunk.readableBytes > room { break }
            }
        } catch {
            // the bytes that came are shown
        }
        state.withLock { [page] in $0.page = page }
        return isWhole
    }

    /// Shows the page of a refusal: such a response brings no bytes of the file.
    private func showPage(in ending: inout Ending, _ contentType: String?) {
        let page = state.withLock { $0.page } ?? []
        guard case .none = ending.body, !page.isEmpty, exchange.quota.takeMemory(page.count, of: page.count) else {
            return
        }
        ending.size = page.count
        ending.body = .kept(KeptBody(memory: page, quota: exchange.quota, contentType: contentType))
    }

    /// The body of an unpublished file: an error page, for example.
    private func unnamed(_ file: PartialFile, _ contentType: String?) async -> ExchangeOutcome.Body {
        let bytes = await offLoop(owedTo: exchange.quota.client) { (try? file.bytes()) ?? [] }
        guard !bytes.isEmpty, exchange.quota.takeMemory(bytes.count, of: bytes.count) else { return .none }
        return .kept(KeptBody(memory: bytes, quota: exchange.quota, contentType: contentType))
    }

    private func isKept(after failure: HTTPFailure, _ file: PartialFile) -> Bool {
        let (stage, isResumable) = state.withLock { ($0.stage, $0.isResumable) }
        if failure.kind == .explicitlyCancelled, !exchange.keepsPartial, !options.resumes { return false }
        switch stage {
        case .untouched: return isResumable && file.held.count > 0
        case .taking:
            guard isResumable, ResumeRule.mayResume(file.journal.version, isVerified: !options.checksums.isEmpty) else {
                return false
            }
            return file.held.count > 0 || failure.kind == .insufficientSpace
        // complete: only the destination was wrong
        case .complete: return isResumable && (failure.kind.isAboutPlace || failure.kind.isEnd)
        }
    }
}

extension HTTPFailure.Kind {
    /// Whether the bytes are right, and only the destination failed.
    fileprivate var isAboutPlace: Bool {
        switch self {
        case .downloadedFileMoveFailed, .destinationExists, .destinationUnsafe, .destinationBusy, .fileWriteFailed,
            .insufficientSpace, .limitExceeded, .tooManyOpenFiles:
            true
        default: false
        }
    }
}

/// The driver's part in a download.
extension ExchangeDriver {
    func receive(_ body: any AttemptResponseBody, for download: DownloadRun) async -> ExchangeMachine.Step {
        guard let attempt else { return machine.failed(.unbuilt) }
        do throws(HTTPFailure) {
            download.limit(to: exchange.totalTimeout ?? attempt.timeouts.total, after: elapsed(inAttempt: true))
            // as the head said: a body that has ended meanwhile may be stored no more
            let isCached = response?.cache?.storedAt != nil
            let isWhole = try await download.receive(body, attempt, isCached: isCached)
            note(body.timeline)
            guard isWhole else {
                response = nil
                return machine.unfinished()
            }
            await chooseDestination(download, attempt)
            return machine.received()
        } catch {
            let rejection = error.kind == .checksumMismatch ? rejection(download, attempt) : nil
            giveUp(isWhole: rejection != nil)
            return machine.failed(rejection ?? error)
        }
    }

    /// Why the rules of the request reject a complete response: the page of an error never has the digest of the file.
    private func rejection(_ download: DownloadRun, _ attempt: Attempt) -> HTTPFailure? {
        guard download.state.withLock({ $0.stage == .complete }) else { return nil }
        let moment = moment(attempt, showsHead: !download.isConfirmed)
        return exchange.delegate?.headFault(moment, isEmpty: download.file?.held.count == 0)
    }

    /// A callback may choose the destination, now that the file has arrived.
    private func chooseDestination(_ download: DownloadRun, _ attempt: Attempt) async {
        guard let name = download.options.destinationCode, let delegate = exchange.delegate, let file = download.arrived
        else { return }
        exchange.hold()
        defer { exchange.release() }
        do throws(HTTPFailure) {
            let place = try await delegate.destination(name, file, moment(attempt))
            if let place { download.send(to: place) }
        } catch {
            // without a result the file goes to its own destination
        }
    }
}
