// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Readers that get a stored response, or a failure.
extension CacheFlight {
    /// A body that cannot be stored is read at the speed of the slowest reader. A reader that takes none of it for as long as
    /// another one waits for shared exchanges loses the response, as if the server had waited no longer.
    func limitStall() {
        guard stall == nil, let seconds = waitingReaders.compactMap(\.query.spec.collapse).min() else { return }
        let slowest = slowestPosition
        let waiting = waitingReaders.map { ($0, $0.held) }
        stall = transport.loop.scheduleTask(in: .milliseconds(CachedAttempt.milliseconds(seconds))) {
            self.stall = nil
            guard self.isStalled else { return }
            // no request stood still meanwhile but the slowest
            let isWaitedFor = waiting.contains { $0.waiting != nil && ($0.held - $1).seconds < seconds / 2 }
            guard isWaitedFor, self.slowestPosition == slowest else { return self.limitStall() }
            let text =
                "the response from \(self.order.attempt.url.host) is longer than the cache keeps, and other requests read it"
                + " on while this one stood still: send the request again, or with cache.collapse: false"
            let failure = HTTPFailure(.connectionLost, text, phase: .response, sent: .sent)
            for reader in self.readers.values.filter({ $0.position == slowest }) { reader.fail(failure) }
        }
    }

    /// Readers that have all pieces wait for slower ones, since no more pieces are kept.
    var isStalled: Bool { tail == nil && !isStoring && pieces.count >= Self.window && !waitingReaders.isEmpty }

    /// Readers that have all pieces, and wait for the next.
    private var waitingReaders: [CachedAttempt] { readers.values.filter { $0.waiting != nil && hasAll($0) } }

    private var slowestPosition: Int { readers.values.lazy.map(\.position).min() ?? 0 }

    var isInvalidated: Bool { store.flights.isInvalidated(order.place.key, since: serial) }

    /// All readers get the stored entry; cookies of the response behind it are for the request that was sent.
    func serve(
        _ entry: CachedEntry, _ status: CacheReport.Status, _ reason: String, inPlaceOf response: AttemptResponse? = nil
    ) {
        let waiting = readers.sorted { $0.key < $1.key }
        machine.ended()
        end(cancels: false)
        for (number, reader) in waiting {
            reader.serve(
                entry, CacheVerdict.CacheUse(isStale: status == .stale, reason), as: status, order.forward,
                isCollapsed: number > 0, inPlaceOf: number == 0 ? response : nil)
        }
    }

    /// Whether a request that comes after the head may read along: if it may use the response as a stored one.
    func isReadable(by reader: CachedAttempt) -> Bool {
        guard isStoring, firstPiece == 0, let response, reader.place.variant(names) == order.place.variant(names)
        else { return false }
        let head = CachedHead(
            status: response.status, reason: response.reason, version: response.version, response.fields,
            requestedAt: requestedAt, respondedAt: respondedAt, fallback: order.query.spec.maxAge)
        let verdict = CachePolicy.decide(reader.query, head, size: total, hasVariants: true, now: CacheClock.now)
        if case .use = verdict { return true }
        return false
    }

    /// No head has come.
    func failed(_ failure: HTTPFailure) {
        let now = CacheClock.now
        if let entry = order.entry, failure.kind.isOfNetwork,
            CachePolicy.rescues(order.query, entry.head, status: nil, now: now)
        {
            return serve(entry, .stale, "stale-if-error: \(failure.message)")
        }
        let isOfSender = !failure.kind.isOfNetwork || failure.kind == .timedOut
        // no limit of time ends a suspended request
        let isSpared = failure.kind == .timedOut && observer.isHeld && readers.count > 1
        let waiting = readers
        let step = machine.failed(isOfSender: isOfSender)
        end(cancels: false)
        guard case .fail(let failing, let again) = step else { return }
        if !isSpared { for number in failing { waiting[number]?.fail(failure) } }
        for number in isSpared ? again + failing : again { waiting[number]?.begin() }
    }
}
