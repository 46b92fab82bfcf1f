// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Combines the callbacks of many requests that need a credential for the same protection space into one.
///
///     want ──▶ call ──▶ replied: all waiting requests have the credential
///      │         └───▶ gave up: the next request calls
///      ├────▶ wait
///      └────▶ take: the credential arrived while this request was on its way
///
/// A request makes the callback only if no credential arrived since the request was sent: a late refusal takes the credential of the
/// other requests, and after a refused password a single new callback serves all of them. If that callback supplies the
/// same password again, no request on its way tries it again. Times are seconds of a monotonic clock.
///
/// Responsible for: one callback per space at a time; bounds on the remembered credentials.
/// Not responsible for: the callbacks themselves, waiting, deadlines.
package struct SharedCallbackMachine: ~Copyable {
    package typealias ID = Int

    package enum Step: Sendable {
        case call
        case wait
        /// The credential of another request's callback; nil if that callback supplied none.
        case take(CallbackCredential?)
    }

    private struct Open {
        var caller: ID
        var waits: [ID] = []
    }

    private struct Known {
        var given: CallbackCredential?
        var time: Double
        /// The server had refused this credential to the request that made the callback.
        var isRepeated: Bool
        /// The credential of the callback before, if the server refused that credential.
        var replaced: UserCredential?
    }

    private struct Refusal {
        var space: ProtectionSpace
        var credential: UserCredential
        var time: Double
    }

    /// Seconds for which a credential serves requests sent before its arrival; for an older request, the client is called again.
    package static let patience = 300.0
    /// Most remembered credentials, and most remembered refusals; beyond that the oldest is dropped.
    package static let mostKept = 64

    private var open: [ProtectionSpace: Open] = [:]
    private var known: [ProtectionSpace: Known] = [:]
    private var refusals: [Refusal] = []

    package init() {}

    /// Notes that a request needs a credential.
    ///
    /// - Parameter refused: the credential that the server refused to this request.
    package mutating func wants(
        _ id: ID, _ space: ProtectionSpace, sentAt sent: Double, refused: UserCredential? = nil, now: Double
    ) -> Step {
        forgetOld(now)
        if let refused { note(refused, space, now) }
        if open[space] != nil {
            open[space]?.waits.append(id)
            return .wait
        }
        if let known = known[space] {
            if known.isRepeated, known.time > sent || known.given?.credential == refused { return .take(nil) }
            // a request with the credential of the callback before is late, whenever it was sent
            let isLate = known.time > sent || refused != nil && refused == known.replaced
            // the request that was to make the callback again may be gone
            if isLate, !isWrong(known.given, space) { return .take(known.given) }
        }
        open[space] = Open(caller: id)
        return .call
    }

    /// Notes the outcome of a callback.
    ///
    /// - Parameter refused: the credential that the server had refused to the request that made the callback.
    /// - Returns: the waiting requests, and the credential for them.
    package mutating func replied(
        _ space: ProtectionSpace, _ given: CallbackCredential?, refused: UserCredential? = nil, now: Double
    ) -> (waiting: [ID], given: CallbackCredential?) {
        forgetOld(now)
        let isRepeated = given != nil && given?.credential == refused
        // requests to which the server has not refused the credential try it
        if !isRepeated { refusals.removeAll { $0.space == space && $0.credential == given?.credential } }
        if known.count >= Self.mostKept, known[space] == nil,
            let oldest = known.min(by: { $0.value.time < $1.value.time })
        {
            known[oldest.key] = nil
        }
        let before = known[space]?.given?.credential
        known[space] = Known(
            given: given, time: now, isRepeated: isRepeated, replaced: before == refused ? refused : nil)
        return (open.removeValue(forKey: space)?.waits ?? [], isRepeated ? nil : given)
    }

    /// Removes a request. Returns the request that must make the callback in its place, if any.
    package mutating func gaveUp(_ id: ID, _ space: ProtectionSpace) -> ID? {
        guard var callback = open[space] else { return nil }
        if callback.caller != id {
            callback.waits.removeAll { $0 == id }
            open[space] = callback
            return nil
        }
        guard !callback.waits.isEmpty else {
            open[space] = nil
            return nil
        }
        callback.caller = callback.waits.removeFirst()
        open[space] = callback
        return callback.caller
    }

    private func isWrong(_ given: CallbackCredential?, _ space: ProtectionSpace) -> Bool {
        refusals.contains { $0.space == space && $0.credential == given?.credential }
    }

    private mutating func note(_ refused: UserCredential, _ space: ProtectionSpace, _ now: Double) {
        refusals.removeAll { $0.space == space && $0.credential == refused }
        if refusals.count >= Self.mostKept { refusals.removeFirst() }
        refusals.append(Refusal(space: space, credential: refused, time: now))
    }

    private mutating func forgetOld(_ now: Double) {
        for (space, known) in known where now - known.time > Self.patience { self.known[space] = nil }
        refusals.removeAll { now - $0.time > Self.patience }
    }
}
