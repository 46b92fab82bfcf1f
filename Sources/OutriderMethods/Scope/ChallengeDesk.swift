// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Where the requests meet that have the same code asked for credentials, so that it is asked once for all of them.
///
/// Drives SharedQuestionMachine. Lives as long as one of the requests does, or the session whose code it is.
final class ChallengeDesk: Sendable {
    private enum Turn: Sendable {
        case ask
        case take(GivenCredential?)
        case leave
    }

    private enum Waiter {
        case coming
        case waiting(CheckedContinuation<Turn, Never>)
        case woken(Turn)
    }

    private struct Contents: ~Copyable {
        var machine = SharedQuestionMachine()
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
    }

    /// Nobody is asked for less time than this; it is half of what a client may say.
    private static let leastSeconds = CallbackSpec.timeouts.lowerBound / 2

    private let contents = Mutex(Contents())

    /// What the code gives, whoever asked it; nil for nothing, or when the seconds are over or the task is cancelled.
    ///
    /// - Parameters:
    ///   - sent: when the request was sent that was refused.
    ///   - refused: with what it was signed.
    ///   - ask: asks, waiting for so many seconds at most; nil if there was no answer that others could use, either.
    func credential(
        for space: ProtectionSpace, sentAt sent: ContinuousClock.Instant, refused: UserCredential?,
        within seconds: Double, _ engine: Engine, ask: (Double) async -> GivenCredential??
    ) async -> GivenCredential? {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let (id, step) = enter(space, sent, refused)
            let turn: Turn =
                switch step {
                case .ask: .ask
                case .take(let given): .take(given)
                case .wait: await wait(id, (deadline - .now).seconds, engine)
                }
            // what this request was refused with is no help to it, though it may be to the others
            if case .take(let given) = turn {
                if let given, given.credential == refused { continue }
                return given
            }
            let left = (deadline - .now).seconds
            if case .ask = turn, left >= Self.leastSeconds, let given = await ask(left) {
                settle(space, given, refused)
                return given
            }
            giveUp(id, space)
            return nil
        }
    }

    private func enter(
        _ space: ProtectionSpace, _ sent: ContinuousClock.Instant, _ refused: UserCredential?
    ) -> (Int, SharedQuestionMachine.Step) {
        contents.withLock { contents in
            contents.nextID &+= 1
            let id = contents.nextID
            let step = contents.machine.wants(
                id, space, sentAt: Self.seconds(sent), refused: refused, now: Self.seconds(.now))
            if case .wait = step { contents.waiters[id] = .coming }
            return (id, step)
        }
    }

    private func wait(_ id: Int, _ seconds: Double, _ engine: Engine) async -> Turn {
        let alarm = engine.later(seconds: seconds) { [weak self] in self?.wake(id, .leave) }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let turn = contents.withLock { contents -> Turn? in
                    if case .woken(let turn)? = contents.waiters[id] {
                        contents.waiters[id] = nil
                        return turn
                    }
                    contents.waiters[id] = .waiting(continuation)
                    return nil
                }
                if let turn { continuation.resume(returning: turn) }
            }
        } onCancel: {
            wake(id, .leave)
        }
    }

    /// The first reason to wake up counts.
    private func wake(_ id: Int, _ turn: Turn) {
        let continuation = contents.withLock { contents -> CheckedContinuation<Turn, Never>? in
            switch contents.waiters[id] {
            case .coming: contents.waiters[id] = .woken(turn)
            case .waiting(let continuation):
                contents.waiters[id] = nil
                return continuation
            case .woken, nil: break
            }
            return nil
        }
        continuation?.resume(returning: turn)
    }

    private func settle(_ space: ProtectionSpace, _ given: GivenCredential?, _ refused: UserCredential?) {
        let (waiting, shared) = contents.withLock { contents in
            contents.machine.answered(space, given, refused: refused, now: Self.seconds(.now))
        }
        for id in waiting { wake(id, .take(shared)) }
    }

    private func giveUp(_ id: Int, _ space: ProtectionSpace) {
        if let next = contents.withLock({ $0.machine.gaveUp(id, space) }) { wake(next, .ask) }
    }

    private static let origin = ContinuousClock.now

    private static func seconds(_ instant: ContinuousClock.Instant) -> Double { (instant - origin).seconds }
}

/// The desks of one client's own code, found by the name of that and the session that it is asked for.
final class ChallengeDesks: Sendable {
    private struct Key: Hashable {
        var callback: String
        var session: String?
    }

    private struct Weak: Sendable {
        weak var desk: ChallengeDesk?
    }

    private static let mostForgotten = 64

    private let desks = Mutex<[Key: Weak]>([:])

    func desk(of callback: String, session: String?) -> ChallengeDesk {
        desks.withLock { desks in
            let key = Key(callback: callback, session: session)
            if let desk = desks[key]?.desk { return desk }
            if desks.count >= Self.mostForgotten { desks = desks.filter { $0.value.desk != nil } }
            let desk = ChallengeDesk()
            desks[key] = Weak(desk: desk)
            return desk
        }
    }
}
