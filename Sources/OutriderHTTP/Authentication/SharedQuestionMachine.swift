// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Sees to it that many requests which want a credential for the same protection space ask for it once.
///
///     want ──▶ ask ──▶ answered: all who wait have it
///      │        └────▶ gave up: the next one asks
///      ├────▶ wait
///      └────▶ take: it was answered while this request was on its way
///
/// A request asks only for what was not answered since it was sent. So those whose refusal comes late take the answer of
/// the others, and a password that was refused is asked for once more by all of them together. When it is given once more,
/// nobody who was on the way tries it again. Times are seconds of any clock that does not go back.
///
/// Responsible for: one question per space at a time; bounds on what is kept of answers.
/// Not responsible for: asking, waiting, deadlines.
package struct SharedQuestionMachine: ~Copyable {
    package typealias ID = Int

    package enum Step: Sendable {
        case ask
        case wait
        /// What another one was told; nil for nobody who would help.
        case take(GivenCredential?)
    }

    private struct Open {
        var asks: ID
        var waits: [ID] = []
    }

    private struct Known {
        var given: GivenCredential?
        var time: Double
        /// It had been refused to the one that asked for it.
        var isRepeated: Bool
    }

    private struct Refusal {
        var space: ProtectionSpace
        var credential: UserCredential
        var time: Double
    }

    /// Seconds for which an answer is for those who were sent before it; who has been on the way for longer asks again.
    package static let patience = 300.0
    /// Answers, and credentials that were refused, that are kept; beyond that the oldest goes.
    package static let mostKept = 64

    private var open: [ProtectionSpace: Open] = [:]
    private var known: [ProtectionSpace: Known] = [:]
    private var refusals: [Refusal] = []

    package init() {}

    /// A request that was sent then wants a credential.
    ///
    /// - Parameter refused: with what it was signed, and is not believed.
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
            // whoever was to ask once more may have gone
            if known.time > sent, !isWrong(known.given, space) { return .take(known.given) }
        }
        open[space] = Open(asks: id)
        return .ask
    }

    /// What the one that asked was told.
    ///
    /// - Parameter refused: with what it had been signed.
    /// - Returns: those who have waited for it, and what they are told.
    package mutating func answered(
        _ space: ProtectionSpace, _ given: GivenCredential?, refused: UserCredential? = nil, now: Double
    ) -> (waiting: [ID], given: GivenCredential?) {
        forgetOld(now)
        let isRepeated = given != nil && given?.credential == refused
        // who was not refused with it tries it
        if !isRepeated { refusals.removeAll { $0.space == space && $0.credential == given?.credential } }
        if known.count >= Self.mostKept, known[space] == nil,
            let oldest = known.min(by: { $0.value.time < $1.value.time })
        {
            known[oldest.key] = nil
        }
        known[space] = Known(given: given, time: now, isRepeated: isRepeated)
        return (open.removeValue(forKey: space)?.waits ?? [], isRepeated ? nil : given)
    }

    /// It waits or asks no longer. Returns who is to ask now, if that has changed.
    package mutating func gaveUp(_ id: ID, _ space: ProtectionSpace) -> ID? {
        guard var question = open[space] else { return nil }
        if question.asks != id {
            question.waits.removeAll { $0 == id }
            open[space] = question
            return nil
        }
        guard !question.waits.isEmpty else {
            open[space] = nil
            return nil
        }
        question.asks = question.waits.removeFirst()
        open[space] = question
        return question.asks
    }

    private func isWrong(_ given: GivenCredential?, _ space: ProtectionSpace) -> Bool {
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
