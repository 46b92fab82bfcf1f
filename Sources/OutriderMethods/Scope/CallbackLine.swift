// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC
import Synchronization

/// The line of a client's callbacks for places on its connection, in the order of arrival.
final class CallbackLine: Sendable {
    fileprivate enum Waiter {
        case expected
        case waiting(CheckedContinuation<Bool, Never>)
        /// Over before the caller began to wait: whether the callback has a place.
        case over(Bool)
    }

    fileprivate struct Contents {
        var machine = CallbackLineMachine()
        var waiters: [Int: Waiter] = [:]
        var lastID = 0
    }

    /// Seconds that a callback waits while no other callback ends, but at most half of its time limit.
    private static let mostStuck = 3.0

    private let contents = Mutex(Contents())

    /// Waits for a place, for so many seconds at most; the place must be left. Throws `tooMany`, and `cancelled` if the
    /// task is cancelled.
    ///
    /// - Parameter isReconnect: whether a stream reconnects.
    func enter(isReconnect: Bool, within seconds: Double, _ engine: Engine) async throws(RPCError) {
        let (id, entry) = contents.withLock { contents in
            contents.lastID &+= 1
            let entry = contents.machine.enter(contents.lastID, isReconnect: isReconnect)
            if entry == .waiting { contents.waiters[contents.lastID] = .expected }
            return (contents.lastID, entry)
        }
        switch entry {
        case .inside: return
        case .refused: throw Self.tooMany
        case .waiting: break
        }
        let alarm = engine.later(seconds: seconds) { [weak self] in self?.giveUp(id) }
        defer { alarm.cancel() }
        // the client's code makes no request that reconnects, and reconnects leave places for its requests
        if !isReconnect { look(at: id, each: min(Self.mostStuck, seconds / 2), engine) }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isIn = contents.withLock { contents -> Bool? in
                    if case .over(let isIn) = contents.waiters.removeValue(forKey: id) { return isIn }
                    contents.waiters[id] = .waiting(continuation)
                    return nil
                }
                if let isIn { continuation.resume(returning: isIn) }
            }
        } onCancel: {
            giveUp(id)
        }
        if !isIn { throw Task.isCancelled ? RPCError(.cancelled, "the request was cancelled") : Self.tooMany }
    }

    func leave(isReconnect: Bool) {
        let waiter = contents.withLock { contents in
            contents.machine.leave(isReconnect: isReconnect).flatMap { contents.settle($0, isIn: true) }
        }
        waiter?.resume(returning: true)
    }

    /// Ends the wait after so many seconds in which no callback has ended.
    private func look(at id: Int, each seconds: Double, _ engine: Engine) {
        _ = engine.later(seconds: seconds) { [weak self] in
            guard let self, giveUp(id, ifStuck: true) == .waits else { return }
            look(at: id, each: seconds, engine)
        }
    }

    @discardableResult
    private func giveUp(_ id: Int, ifStuck: Bool = false) -> CallbackLineMachine.Wait {
        let (wait, waiter) = contents.withLock { contents in
            let wait = contents.machine.giveUp(id, ifStuck: ifStuck)
            return (wait, wait == .ends ? contents.settle(id, isIn: false) : nil)
        }
        waiter?.resume(returning: false)
        return wait
    }

    private static var tooMany: RPCError { CallMachine.tooManyCallbacks(CallbackLineMachine.places) }
}

extension CallbackLine.Contents {
    /// Returns the continuation to resume, if the caller waits already.
    fileprivate mutating func settle(_ id: Int, isIn: Bool) -> CheckedContinuation<Bool, Never>? {
        if case .waiting(let continuation) = waiters.removeValue(forKey: id) { return continuation }
        waiters[id] = .over(isIn)
        return nil
    }
}
