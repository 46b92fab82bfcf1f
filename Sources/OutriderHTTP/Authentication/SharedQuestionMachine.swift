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
/// the others, and a password that was refused is asked for once more by all of them together. Times are seconds of any
/// clock that does not go back.
///
/// Responsible for: one question per space at a time; bounds on what is kept of answers.
/// Not responsible for: asking, waiting, deadlines.
package struct SharedQuestionMachine<Answer: Sendable>: ~Copyable {
    package typealias ID = Int

    package enum Step {
        case ask
        case wait
        case take(Answer)
    }

    private struct Open {
        var asks: ID
        var waits: [ID] = []
    }

    private struct Known {
        var answer: Answer
        var time: Double
    }

    /// Seconds for which an answer is for those who were sent before it; who has been on the way for longer asks again.
    package static var patience: Double { 300 }
    /// Spaces whose answers are kept; beyond that the oldest goes.
    package static var mostKnown: Int { 64 }

    private var open: [ProtectionSpace: Open] = [:]
    private var known: [ProtectionSpace: Known] = [:]

    package init() {}

    /// A request that was sent then wants a credential.
    package mutating func wants(_ id: ID, _ space: ProtectionSpace, sentAt sent: Double, now: Double) -> Step {
        forgetOld(now)
        if open[space] != nil {
            open[space]?.waits.append(id)
            return .wait
        }
        if let known = known[space], known.time > sent { return .take(known.answer) }
        open[space] = Open(asks: id)
        return .ask
    }

    /// What the one that asked was told. Returns those who have waited for it.
    package mutating func answered(_ space: ProtectionSpace, _ answer: Answer, now: Double) -> [ID] {
        forgetOld(now)
        if known.count >= Self.mostKnown, known[space] == nil,
            let oldest = known.min(by: { $0.value.time < $1.value.time })
        {
            known[oldest.key] = nil
        }
        known[space] = Known(answer: answer, time: now)
        return open.removeValue(forKey: space)?.waits ?? []
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

    private mutating func forgetOld(_ now: Double) {
        for (space, known) in known where now - known.time > Self.patience { self.known[space] = nil }
    }
}
