// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import Synchronization

/// The line of a client's callbacks about streams that reconnect: so many at a time go to the client, in the order of
/// arrival.
///
/// Streams that are lost at once would otherwise exceed the limit of callbacks that wait on a connection, and fail,
/// although the client opened them one after the other.
final class CallbackLine: Sendable {
    private struct Contents {
        var running = 0
        var waiting: [(id: Int, waiter: CheckedContinuation<Bool, Never>)] = []
        var lastID = 0
    }

    /// The other half of the places is for callbacks about other requests.
    static let most = 32
    /// A connection has fewer streams.
    private static let mostWaiting = 1024

    private let contents = Mutex(Contents())

    /// Waits for a place. False after so many seconds, on cancellation, and if too many wait; a place must be left.
    func enter(within seconds: Double, _ engine: Engine) async -> Bool {
        let id = contents.withLock { contents in
            contents.lastID &+= 1
            return contents.lastID
        }
        let alarm = engine.later(seconds: seconds) { [weak self] in self?.giveUp(id) }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let isIn = contents.withLock { contents -> Bool? in
                    if Task.isCancelled || contents.waiting.count >= Self.mostWaiting { return false }
                    if contents.running < Self.most {
                        contents.running += 1
                        return true
                    }
                    contents.waiting.append((id, continuation))
                    return nil
                }
                if let isIn { continuation.resume(returning: isIn) }
            }
        } onCancel: {
            giveUp(id)
        }
    }

    func leave() {
        let next = contents.withLock { contents -> CheckedContinuation<Bool, Never>? in
            if contents.waiting.isEmpty {
                contents.running -= 1
                return nil
            }
            return contents.waiting.removeFirst().waiter
        }
        next?.resume(returning: true)
    }

    private func giveUp(_ id: Int) {
        let waiter = contents.withLock { contents -> CheckedContinuation<Bool, Never>? in
            guard let index = contents.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            return contents.waiting.remove(at: index).waiter
        }
        waiter?.resume(returning: false)
    }
}
