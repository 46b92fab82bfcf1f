// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// The end of an exchange: its body, its last events, its outcome.
extension ExchangeDriver {
    func finish(_ failure: HTTPFailure?) {
        if let download {
            let contentType = response?.fields.first("Content-Type")
            return wait(for: { await download.end(failure, contentType: contentType) }) { self.finish(download: $0) }
        }
        guard response != nil else { return close(outcome(.none, failure)) }
        if let body { return close(outcome(body, failure)) }
        switch sink.finish(keeping: exchange.keepsBody, contentType: response?.fields.first("Content-Type")) {
        case .body(let body): close(outcome(body, failure))
        case .spill(let spill):
            wait(for: { await Self.result { () throws(HTTPFailure) in try await spill.write() } }) { result in
                switch result {
                case .success(let file):
                    self.sink.wrote(file)
                    self.finish(failure)
                case .failure(let reason):
                    self.isTruncated = true
                    self.close(self.outcome(.none, failure ?? reason))
                }
            }
        }
    }

    private func finish(download ending: DownloadRun.Ending) {
        var outcome = outcome(ending.body, ending.failure)
        outcome.bodyBytes = ending.size
        (outcome.resumeData, outcome.suggestedName) = (ending.resumeData, ending.suggestedName)
        outcome.isConfirmation = download?.isConfirmed ?? false
        close(outcome)
    }

    private func outcome(_ body: ExchangeOutcome.Body, _ failure: HTTPFailure?) -> ExchangeOutcome {
        ExchangeOutcome(
            url: url, method: attempt?.method ?? exchange.method, head: response.map(ExchangeHead.init), body: body,
            bodyBytes: sink.size, isTruncated: isTruncated, failure: failure, attempts: machine.attempts,
            redirects: hops, timelines: timelines, total: (ContinuousClock.now - began).seconds,
            trailers: response?.body.trailers ?? [])
    }

    /// Notifies the observer, the outlet, and all waiters of the end.
    private func close(_ outcome: ExchangeOutcome) {
        guard observer != nil || outlet != nil else {
            var outcome = outcome
            let phase = exchange.conclude(&outcome)
            return over(outcome, phase)
        }
        // the page of an error is no progress of a file
        let isWhole = response != nil && !isTruncated && !isPage && download?.isRefused != true
        let reports = observer == nil ? [] : exchange.lastProgress(isWhole: isWhole)
        tell(reports[...]) { [outcome] in
            var outcome = outcome
            let phase = self.exchange.conclude(&outcome)
            self.tellEnd(outcome, phase)
        }
    }

    private func tell(_ reports: ArraySlice<ProgressReport>, then completion: @escaping @Sendable () -> Void) {
        guard let report = reports.first else { return completion() }
        tell(.progress(report)) { self.tell(reports.dropFirst(), then: completion) }
    }

    private func tellEnd(_ outcome: ExchangeOutcome, _ phase: RequestPhase) {
        exchange.endTelling()
        let told = { @Sendable in
            self.tell(.state(phase, at: .now)) {
                self.tell(.finish(outcome)) { self.over(outcome, phase) }
            }
        }
        guard let outlet else { return told() }
        wait(for: { await outlet.over(outcome) }, then: told)
    }

    private func over(_ outcome: ExchangeOutcome, _ phase: RequestPhase) {
        close()
        exchange.over(outcome, phase)
    }

    // MARK: before the end

    /// The whole body so far, for a review before the end.
    func wholeBody() async throws(HTTPFailure) -> ExchangeOutcome.Body {
        if let body { return body }
        let contentType = response?.fields.first("Content-Type")
        if let download { return download.whole(contentType: contentType) }
        while true {
            switch sink.finish(keeping: exchange.keepsBody, contentType: contentType) {
            case .body(let whole):
                body = whole
                return whole
            case .spill(let spill): sink.wrote(try await spill.write())
            }
        }
    }

    /// Resets the state of the response before the next attempt.
    func forgetResponse() {
        if case .kept(let kept) = body { kept.release() }
        body = nil
        download?.forget()
        response = nil
        signing.bodyProof = nil
        hops = []
        isTruncated = false
        isPage = false
        sink = Self.sink(for: exchange)
        if isLasting { forgetOldTimelines() }
        exchange.note(timelines)
    }

    /// Whether the exchange may retry without a limit on attempts.
    var isLasting: Bool { exchange.plan?.plan.isLasting == true }

    private func forgetOldTimelines() {
        let old = timelines.dropLast(Exchange.rememberedAttempts)
        guard !old.isEmpty else { return }
        exchange.environment.counters.moved(
            sent: old.reduce(0) { $0 &+ $1.bytesSent }, received: old.reduce(0) { $0 &+ $1.bytesReceived })
        timelines.removeFirst(old.count)
    }
}

extension Duration {
    package var seconds: Double {
        // whole nanoseconds, whose decimal form is short
        Double(Int64(truncatingIfNeeded: attoseconds / 1_000_000_000)) / 1e9
    }
}
