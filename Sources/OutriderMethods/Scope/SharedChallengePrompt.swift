// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Shares a challenge callback among requests that wait for the same credentials: the client is called once for all.
///
/// Drives SharedCallbackMachine. Lives as long as a request that uses the prompt, or the session with the callback.
final class SharedChallengePrompt: Sendable {
    private enum Turn: Sendable {
        case call
        case take(CallbackCredential?)
        case leave
    }

    private enum Waiter {
        case coming
        case waiting(CheckedContinuation<Turn, Never>)
        case woken(Turn)
    }

    private struct Contents: ~Copyable {
        var machine = SharedCallbackMachine()
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
    }

    /// The shortest timeout of a callback, in seconds: half of the least that a client may choose.
    private static let leastSeconds = CallbackSpec.timeouts.lowerBound / 2

    private let contents = Mutex(Contents())

    /// The credentials from the callback, whichever request made the call; nil without credentials, after `seconds`, or
    /// on cancellation.
    ///
    /// - Parameters:
    ///   - sent: when the refused request was sent.
    ///   - refused: the credentials of the refused request.
    ///   - call: calls the client, for at most that many seconds; nil if there was no reply that other requests could
    ///     use.
    func credential(
        for space: ProtectionSpace, sentAt sent: ContinuousClock.Instant, refused: UserCredential?,
        within seconds: Double, _ engine: Engine, call: (Double) async -> CallbackCredential??
    ) async -> CallbackCredential? {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let (id, step) = enter(space, sent, refused)
            let turn: Turn =
                switch step {
                case .call: .call
                case .take(let given): .take(given)
                case .wait: await wait(id, (deadline - .now).seconds, engine)
                }
            // credentials that this request was refused with may still suit the other requests
            if case .take(let given) = turn {
                if let given, given.credential == refused { continue }
                return given
            }
            let left = (deadline - .now).seconds
            if case .call = turn, left >= Self.leastSeconds, let given = await call(left) {
                settle(space, given, refused)
                return given
            }
            giveUp(id, space)
            return nil
        }
    }

    private func enter(
        _ space: ProtectionSpace, _ sent: ContinuousClock.Instant, _ refused: UserCredential?
    ) -> (Int, SharedCallbackMachine.Step) {
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

    /// Wakes the waiter; the first turn counts.
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

    private func settle(_ space: ProtectionSpace, _ given: CallbackCredential?, _ refused: UserCredential?) {
        let (waiting, shared) = contents.withLock { contents in
            contents.machine.replied(space, given, refused: refused, now: Self.seconds(.now))
        }
        for id in waiting { wake(id, .take(shared)) }
    }

    private func giveUp(_ id: Int, _ space: ProtectionSpace) {
        if let next = contents.withLock({ $0.machine.gaveUp(id, space) }) { wake(next, .call) }
    }

    private static let origin = ContinuousClock.now

    private static func seconds(_ instant: ContinuousClock.Instant) -> Double { (instant - origin).seconds }
}

/// The prompts of a client's callbacks, by callback name and session.
final class SharedChallengePrompts: Sendable {
    private struct Key: Hashable {
        var callback: String
        var session: String?
    }

    private struct Weak: Sendable {
        weak var prompt: SharedChallengePrompt?
    }

    private static let mostForgotten = 64

    private let prompts = Mutex<[Key: Weak]>([:])

    func prompt(of callback: String, session: String?) -> SharedChallengePrompt {
        prompts.withLock { prompts in
            let key = Key(callback: callback, session: session)
            if let prompt = prompts[key]?.prompt { return prompt }
            if prompts.count >= Self.mostForgotten { prompts = prompts.filter { $0.value.prompt != nil } }
            let prompt = SharedChallengePrompt()
            prompts[key] = Weak(prompt: prompt)
            return prompt
        }
    }
}
