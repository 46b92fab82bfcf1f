// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// A client's subscription to topics, with the notes that wait: sent as events, or kept until fetched.
final class Subscription: Holdable, MonitorSubscriber {
    static let kind = HandleKind.subscription
    typealias Machine = SubscriptionMachine<MonitorNote>

    /// The subjects of the subscription; never those of other clients.
    enum Scope: Sendable {
        case own
        case request(String)
        /// The requests of this client in a session, and the session itself; nil for the default session.
        case session(String?)
    }

    private struct Contents {
        var machine: Machine
        var memory: WaitingMemory
        var task: Task<Void, Never>?
        var isOver = false
        var isAwaited = false

        /// The memory that is not needed any more; given back behind the lock.
        mutating func surplus() -> [MemoryCharge] { memory.fit(machine.heldBytes) }
    }

    let handle = Handle<Subscription>()
    let topics: TopicSet
    let isPulled: Bool
    private let scope: Scope
    private let owner: MonitorOwner
    private let board: any ServiceMonitors
    private let contents: Mutex<Contents>
    private let news = AsyncSignal()

    /// - Parameter quota: of the client whose memory the notes take.
    init(
        _ topics: TopicSet, _ scope: Scope, owner: MonitorOwner, config: Machine.Config, isPulled: Bool,
        quota: BodyQuota, _ board: any ServiceMonitors
    ) {
        self.topics = topics
        self.scope = scope
        self.owner = owner
        self.isPulled = isPulled
        self.board = board
        contents = Mutex(Contents(machine: Machine(config), memory: WaitingMemory(quota)))
    }

    func isAbout(_ subject: MonitorSubject) -> Bool {
        switch scope {
        case .own: subject.owner === owner || subject.request.map(owner.shares) == true
        // a client that knows the handle of a request may see all its notes
        case .request(let name): subject.request == name
        case .session(let name):
            subject.session == name && (subject.owner === owner || subject.isShared)
        }
    }

    /// Takes a note; returns how many notes were dropped.
    func take(_ note: MonitorNote) -> Int {
        let (lost, _) = contents.withLock { contents -> (Int, [MemoryCharge]) in
            if contents.isOver { return (0, []) }
            let room = contents.memory.room(for: contents.machine.heldBytes &+ note.bytes)
            let lost = contents.machine.push(note, bytes: note.bytes, within: room)
            return (lost, contents.surplus())
        }
        news.ring()
        return lost
    }

    // MARK: sending

    /// Sends notes from now on; no earlier ones.
    func start(_ peer: any Peer, _ engine: Engine) {
        contents.withLock { contents in
            guard !contents.isOver else { return }
            // owned by this subscription, and cancelled by its end
            contents.task = Task(executorPreference: engine.executor) { await self.send(to: peer) }
        }
    }

    private static let sentAtOnce = 64

    private func send(to peer: any Peer) async {
        do {
            while true {
                let (taken, _) = contents.withLock { contents -> (Machine.Taken?, [MemoryCharge]) in
                    let taken = contents.isOver ? nil : contents.machine.take(Self.sentAtOnce)
                    return (taken, contents.surplus())
                }
                guard let taken, !Task.isCancelled else { return }
                if taken.dropped > 0 {
                    let shape = MonitorDropShape(subscription: handle.name, count: taken.dropped)
                    try await peer.notify(Event("event.dropped", shape))
                }
                for note in taken.notes { try await peer.notify(event(note)) }
                if taken.notes.isEmpty, taken.dropped == 0 { await news.wait() }
            }
        } catch {
            // the client is gone, or the subscription over
        }
    }

    private func event(_ note: Machine.Numbered) -> Event {
        let shape = MonitorEventShape(subscription: handle.name, number: note.number, note: note.note)
        return Event("event.monitor", shape, isDroppable: true)
    }

    // MARK: fetching

    enum Fetched {
        case events([Event], dropped: Int, isOver: Bool)
        /// Another call is waiting for notes.
        case busy
    }

    /// Waits for notes, or until the seconds are over. Throws on cancellation.
    ///
    /// - Parameter isReadable: whether the client can read the event; others are dropped.
    func next(
        _ most: Int, bytes: Int, wait seconds: Double, _ engine: Engine, isReadable: @Sendable (Event) -> Bool
    ) async throws -> Fetched {
        let isFree = contents.withLock { contents in
            defer { contents.isAwaited = true }
            return !contents.isAwaited
        }
        guard isFree else { return .busy }
        defer { contents.withLock { $0.isAwaited = false } }
        let deadline = ContinuousClock.now + .seconds(seconds)
        let alarm = engine.later(seconds: seconds) { [news] in news.ring() }
        defer { alarm.cancel() }
        while true {
            let (taken, isOver, _) = contents.withLock { contents -> (Machine.Taken, Bool, [MemoryCharge]) in
                let taken = contents.machine.take(most, bytes: bytes, again: true)
                return (taken, contents.isOver, contents.surplus())
            }
            if !taken.notes.isEmpty || taken.dropped > 0 || isOver || ContinuousClock.now >= deadline {
                let (events, lost) = readable(taken.notes, isReadable)
                return .events(events, dropped: taken.dropped &+ lost, isOver: isOver)
            }
            await news.wait()
            try Task.checkCancellation()
        }
    }

    /// The events that the client can read, and how many it cannot.
    private func readable(
        _ notes: [Machine.Numbered], _ isReadable: (Event) -> Bool
    ) -> (events: [Event], lost: Int) {
        var events: [Event] = []
        var lost: Set<Int> = []
        for note in notes {
            let event = self.event(note)
            if isReadable(event) { events.append(event) } else { lost.insert(note.number) }
        }
        let numbers = lost
        if !numbers.isEmpty {
            _ = contents.withLock { contents -> [MemoryCharge] in
                contents.machine.discard(numbers)
                return contents.surplus()
            }
        }
        return (events, numbers.count)
    }

    /// False if that number has not been given; nil for a subscription without acknowledgement.
    func acknowledge(_ number: Int) -> Bool? {
        let (isKnown, _) = contents.withLock { contents -> (Bool?, [MemoryCharge]) in
            let isKnown = contents.machine.isAcknowledged ? contents.machine.acknowledge(number) : nil
            return (isKnown, contents.surplus())
        }
        news.ring()
        return isKnown
    }

    // MARK: the end

    /// The numbers of notes, and of dropped notes among these.
    var counts: (told: Int, dropped: Int) { contents.withLock { ($0.machine.told, $0.machine.dropped) } }

    /// Ends the subscription; after the return no event is sent.
    func end() async {
        close()
        await contents.withLock { $0.task }?.value
    }

    var isAwaited: Bool { contents.withLock { $0.isAwaited } }

    func close() {
        let task = contents.withLock { contents in
            contents.isOver = true
            return contents.task
        }
        board.remove(self)
        task?.cancel()
        news.ring()
    }
}
