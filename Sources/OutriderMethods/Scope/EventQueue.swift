// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC
import Synchronization

/// Runs an `EventQueueMachine`: calls that fetch events wait here until there are some.
final class EventQueue: Sendable {
    struct Taken: Sendable {
        var events: [Event]
        var dropped: Int
        /// No more events will come.
        var isOver: Bool
    }

    fileprivate struct Contents {
        var machine: EventQueueMachine
        /// Nil if the events are not counted.
        var memory: WaitingMemory?
        var isOver = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
    }

    private let contents: Mutex<Contents>

    /// - Parameter quota: of the client whose memory the events take; nil if they are not counted.
    init(_ machine: EventQueueMachine = EventQueueMachine(), quota: BodyQuota? = nil) {
        contents = Mutex(Contents(machine: machine, memory: quota.map { WaitingMemory($0) }))
    }

    var isAwaited: Bool { contents.withLock { !$0.waiters.isEmpty } }

    func push(
        _ event: Event, mayBeLost: Bool, claim: (@Sendable () -> Bool)? = nil,
        isStale: (@Sendable () -> Bool)? = nil, unreadable: (@Sendable () -> Void)? = nil
    ) {
        let entry = EventQueueMachine.Entry(
            event, mayBeLost: mayBeLost, claim: claim, isStale: isStale, unreadable: unreadable)
        // memory is given back behind the lock
        let (waiters, _) = contents.withLock { contents -> ([CheckedContinuation<Void, Never>], [MemoryCharge]) in
            guard !contents.isOver else { return ([], []) }
            let room = contents.memory?.room(for: contents.machine.bytes &+ entry.bytes) ?? .max
            contents.machine.push(entry, within: room)
            return (contents.takeWaiters(), contents.surplus())
        }
        for waiter in waiters { waiter.resume() }
    }

    /// No more events will come; the held events may still be taken.
    func end() {
        let waiters = contents.withLock { contents in
            contents.isOver = true
            return contents.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
        sweep()
    }

    /// Drops events that are obsolete, and gives their memory back.
    func sweep() {
        // memory is given back behind the lock
        _ = contents.withLock { contents in
            contents.machine.sweep()
            return contents.surplus()
        }
    }

    /// Waits until there are events, no more will come, or the seconds are over. Throws on cancellation.
    ///
    /// - Parameter isReadable: whether the client can read the event; others are dropped.
    func next(
        _ most: Int, bytes: Int, wait seconds: Double, _ engine: Engine,
        isReadable: @Sendable (Event) -> Bool = { _ in true }
    ) async throws -> Taken {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let (taken, _) = contents.withLock { contents -> (Taken, [MemoryCharge]) in
                let (events, dropped) = contents.machine.take(most, bytes: bytes, isReadable: isReadable)
                let isOver = contents.isOver && contents.machine.isEmpty
                return (Taken(events: events, dropped: dropped, isOver: isOver), contents.surplus())
            }
            let left = deadline - ContinuousClock.now
            if !taken.events.isEmpty || taken.dropped > 0 || taken.isOver || left <= .zero { return taken }
            await arrival(within: left.seconds, engine)
            try Task.checkCancellation()
        }
    }

    private func arrival(within seconds: Double, _ engine: Engine) async {
        let id = contents.withLock { contents in
            contents.nextWaiter &+= 1
            return contents.nextWaiter
        }
        let alarm = engine.later(seconds: seconds) { [weak self] in self?.wake(id) }
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = contents.withLock { contents in
                    guard contents.machine.isEmpty, !contents.isOver, !Task.isCancelled else { return false }
                    contents.waiters[id] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: Int) {
        contents.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
}

extension EventQueue.Contents {
    /// The memory that is not needed any more.
    fileprivate mutating func surplus() -> [MemoryCharge] { memory?.fit(machine.bytes) ?? [] }

    fileprivate mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
        if waiters.isEmpty { return [] }
        defer { waiters = [:] }
        return Array(waiters.values)
    }
}
