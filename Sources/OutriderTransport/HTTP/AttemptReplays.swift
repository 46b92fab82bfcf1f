// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Decides whether an attempt is replayed, unseen by its exchange, when its connection or stream has ended.
struct AttemptReplays {
    enum Verdict {
        case no
        case again
        /// On another connection, if possible.
        case elsewhere
        case overHTTP11
    }

    /// Part of an unrepeatable body was read: a second read may fail or give other bytes. Remains true after the whole
    /// body is sent.
    private(set) var bodyBegan = false
    private var hasReplayed = false
    private var unprocessed = 0
    private var refusedForNow = 0
    private var losses = 0

    mutating func bodyBegins(_ writer: BodyWriter) { bodyBegan = bodyBegan || writer.isUnrepeatable }

    /// The connection ended before anything was written. False after ten such losses; losses behind the requests of
    /// others do not count.
    mutating func mayReplay(on ended: any AttemptConnection) -> Bool {
        if !ended.endsAfterOthers { losses += 1 }
        return losses <= 10
    }

    /// Whether to send the request again in place of the response: a 408 that ends a reused connection may have been on
    /// its way before the request (RFC 9110 section 15.5.9).
    mutating func mayReplay(
        insteadOf head: ResponseHead, _ attempt: Attempt, _ key: PoolKey, wasReused: @autoclosure () -> Bool
    ) -> Bool {
        guard head.endsIdleConnection, wasReused() else { return false }
        if case .again = decide(.beforeResponse(replayable: true), attempt, key, responseBegan: false) { return true }
        return false
    }

    /// - Parameter forNow: the server allows no requests at present, and could not say so before the request was sent:
    ///   the refusal does not count, at most `Replay.mostRefusedForNow` times.
    mutating func decide(
        _ end: ConnectionEnd, _ attempt: Attempt, _ key: PoolKey, responseBegan: Bool, forNow: Bool = false
    ) -> Verdict {
        switch end {
        case .beforeResponse(replayable: true):
            guard
                Replay.isAllowed(
                    method: attempt.method, hasKey: attempt.fields.contains("Idempotency-Key"), wasReused: true,
                    responseBegan: responseBegan, fileBodyBegan: bodyBegan, replayedBefore: hasReplayed)
            else { return .no }
            hasReplayed = true
            return .again
        case .unprocessed:
            guard !responseBegan, attempt.body.isReplayable, unprocessed < Replay.mostUnprocessed else { return .no }
            if forNow, refusedForNow < Replay.mostRefusedForNow { refusedForNow += 1 } else { unprocessed += 1 }
            return .elsewhere
        // each time another request was processed: the number of requests is the limit
        case .passedOver: return !responseBegan && attempt.body.isReplayable ? .elsewhere : .no
        case .needsHTTP11:
            guard !responseBegan, attempt.body.isReplayable, key.version == .auto else { return .no }
            return .overHTTP11
        default: return .no
        }
    }
}
