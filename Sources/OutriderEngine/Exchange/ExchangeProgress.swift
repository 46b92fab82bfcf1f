// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// Progress of both bodies of an exchange, for snapshots and observers.
extension Exchange {
    private static let epoch = ContinuousClock.now

    private static var now: Duration { ContinuousClock.now - epoch }

    /// A request is being sent; reported when the transport says so.
    func uploadBegins(_ state: inout State) {
        guard case .success(let attempt) = state.request, attempt.body != .none else { return }
        let snapshot = state.snapshot
        state.snapshot.progress.sent = 0
        state.snapshot.progress.sentTotal = attempt.plainSize
        state.upload?.begin(
            attempt: snapshot.attempts, redirects: snapshot.redirects.count, total: attempt.plainSize,
            now: Self.now)
    }

    /// A head has arrived, and a body of `onWire` bytes on the wire may follow.
    func downloadBegins(_ state: inout State, expecting bytes: Int64?, onWire: Int64?) {
        state.snapshot.progress.receivedTotal = bytes
        guard state.download != nil else { return }
        let snapshot = state.snapshot
        let now = Self.now
        state.download?.begin(
            attempt: snapshot.attempts, redirects: snapshot.redirects.count, total: bytes, now: now)
        if bytes == nil, let onWire { state.download?.expect(onWire, isCoded: true, now: now) }
    }

    package func bodySent(_ bytes: Int64, onWire: Int64?) {
        let (sent, told) = state.withLock { state -> (Int64, (any ExchangeObserver, ProgressReport)?) in
            var (sent, wire) = (bytes, onWire)
            var isWhole = false
            if case .success(let attempt) = state.request, let plain = attempt.plainBodySize {
                (sent, wire) = attempt.progress(sent: bytes, onWire: onWire)
                isWhole = sent == plain
            }
            state.snapshot.progress.sent = sent
            guard state.upload != nil, let observer = state.observer else { return (sent, nil) }
            var report = state.upload?.moved(to: sent, wire: wire, now: Self.now)
            // bytes on the wire have a total at the end only
            if isWhole { report = state.upload?.ended(now: Self.now) ?? report }
            return (sent, report.map { (observer, $0) })
        }
        tell(.attemptBodySent) { piece(sent, of: \.sentTotal) }
        if let (observer, report) = told { observer.receiveDroppable(.progress(report)) }
    }

    package func bodyEnded() {
        let told = state.withLock { state -> (any ExchangeObserver, ProgressReport)? in
            guard state.upload != nil, let observer = state.observer else { return nil }
            return state.upload?.ended(now: Self.now).map { (observer, $0) }
        }
        if let (observer, report) = told { observer.receiveDroppable(.progress(report)) }
    }

    /// Counts the received bytes of the body, and on the wire if coded. Returns the report, and whether more may be
    /// read.
    func received(_ bytes: Int64, onWire: Int64?) -> (ProgressReport?, goesOn: Bool) {
        tell(.attemptReceived) { piece(bytes, of: \.receivedTotal) }
        return state.withLock { state in
            state.snapshot.progress.received = bytes
            let report = state.download?.moved(to: bytes, wire: onWire, now: Self.now)
            return (report, state.snapshot.phase != .suspended)
        }
    }

    /// Sets the number of bytes that existed before; received bytes are added to that.
    func continues(at bytes: Int64) {
        state.withLock { state in
            state.snapshot.progress.received = bytes
            state.download?.continues(at: bytes, now: Self.now)
        }
    }

    /// The remaining reports at the end of the exchange.
    func lastProgress(isWhole: Bool) -> [ProgressReport] {
        state.withLock { state in
            guard state.upload != nil || state.download != nil else { return [] }
            let now = Self.now
            let sent = state.upload?.broke(now: now)
            let received = isWhole ? state.download?.ended(now: now) : state.download?.broke(now: now)
            return [sent, received].compactMap(\.self)
        }
    }

    func pauseProgress(_ state: inout State) {
        state.upload?.paused(now: Self.now)
        state.download?.paused(now: Self.now)
    }

    func resumeProgress(_ state: inout State) {
        state.upload?.resumed(now: Self.now)
        state.download?.resumed(now: Self.now)
    }
}
