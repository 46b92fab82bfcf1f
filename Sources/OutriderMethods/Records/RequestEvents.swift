// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Tells one client how one request goes on, as events of the contract.
final class RequestEvents: ExchangeObserver, DecisionOutlet {
    typealias Finish = @Sendable (ExchangeOutcome, Redaction) async -> ResponseReply?

    private let kinds: EventKinds
    private let names: RequestEventShape.Names
    private let peer: any Peer
    private let next = Atomic(0)
    private let isSilent = Atomic(false)
    /// What makes the Response for the last event; nil where a call waits for it.
    private let finish = Mutex<Finish?>(nil)
    /// What waits for `events.next`; nothing comes here unless it was asked for.
    let queue = EventQueue()
    private let keeps: Bool
    /// The same events for other connections of the user, without secrets and decisions. Nothing comes here unless the
    /// request is detached.
    let sharedQueue = EventQueue()
    private let isShared: Atomic<Bool>
    /// The same progress in other words.
    private let aliases: Mutex<ProgressAliases?>
    private let hasAliases: Bool
    /// The last words on a direction, which the client had no room for.
    private let owed = Mutex<[ProgressReport]>([])

    /// - Parameter keeps: whether they wait for `events.next` too, where they are not sent at all.
    init(
        _ kinds: EventKinds, of request: String, call: RequestID?, tag: String?, peer: any Peer, keeps: Bool = false,
        isShared: Bool = false, aliases: ProgressAliases? = nil
    ) {
        self.isShared = Atomic(isShared)
        self.aliases = Mutex(aliases)
        hasAliases = aliases != nil
        self.kinds = kinds
        self.peer = peer
        self.keeps = keeps
        names = RequestEventShape.Names(request: request, call: call, tag: tag)
    }

    var progressInterval: Double? {
        kinds.contains(.progress) || hasAliases ? peer.terms.progressInterval : nil
    }

    func finish(by make: @escaping Finish) { finish.withLock { $0 = make } }

    /// From now on other connections of the user may come for the events.
    func share() { isShared.store(true, ordering: .relaxed) }

    /// The call has been answered: nothing may follow.
    func silence() { isSilent.store(true, ordering: .relaxed) }

    @Sendable private func isOver() -> Bool { isSilent.load(ordering: .relaxed) }

    /// Whether that is the client who hears of it.
    func tells(_ peer: any Peer) -> Bool { self.peer === peer }

    /// The call is about to be answered without an outcome: no bar stays behind, and nothing follows.
    func cutShort() async {
        for one in aliases.withLock({ $0?.end("cancelled") }) ?? [] { await tell(one.event) }
        silence()
    }

    func heard(_ event: ExchangeEvent) async {
        defer {
            if case .finish = event {
                queue.end()
                sharedQueue.end()
            }
        }
        await tellOwed()
        if hasAliases { await tellAliases(event) }
        guard let (name, content) = await content(event, .none) else { return }
        guard let shape = shape(content) else { return }
        let message = Event(name, shape)
        var isLast = false
        if case .finish = event { isLast = true }
        if keeps { queue.push(message, mayBeLost: !isLast) }
        if isShared.load(ordering: .relaxed), let (_, content) = await self.content(event, .masked) {
            let masked = RequestEventShape(names: names, number: shape.number, content: content)
            sharedQueue.push(Event(name, masked), mayBeLost: !isLast)
        }
        if !kinds.contains(.pulled) { await tell(message) }
    }

    private func tell(_ message: Event) async {
        guard Task.isCancelled else {
            try? await peer.notify(message, unless: isOver)
            return
        }
        // a cancelled request still tells its end; a cancelled task cannot wait, so another one does
        await Task { try? await peer.notify(message, unless: isOver) }.value
    }

    /// What could not wait for room when it was news.
    private func tellOwed() async {
        let reports = owed.withLock { owed in
            defer { owed = [] }
            return owed
        }
        for report in reports {
            if let event = make("event.progress", .progress(report)) { await tell(event) }
        }
    }

    private func tellAliases(_ event: ExchangeEvent) async {
        let told = aliases.withLock { aliases -> [ProgressAliases.Told]? in
            switch event {
            case .state: aliases?.begin()
            case .progress(let report): aliases?.moved(report)
            case .finish(let outcome): aliases?.end(outcome.failure?.message)
            default: []
            }
        }
        for one in told ?? [] where !isSilent.load(ordering: .relaxed) { await tell(one.event) }
    }

    func decision(_ shape: DecisionShape, isOpen: @escaping @Sendable () -> Bool, also inbox: EventQueue) async {
        guard let event = make("event.decision", .decision(shape)) else { return }
        let taken = Claim()
        let claim: @Sendable () -> Bool = { isOpen() && taken.take() }
        let isStale: @Sendable () -> Bool = { !isOpen() || taken.isGone }
        queue.push(event, mayBeLost: false, claim: claim, isStale: isStale)
        inbox.push(event, mayBeLost: false, claim: claim, isStale: isStale)
        if kinds.contains(.decision), !kinds.contains(.pulled) { try? await peer.notify(event, unless: isOver) }
    }

    func glimpsed(_ event: ExchangeEvent) {
        switch event {
        case .state(let phase, let time) where kinds.contains(.state):
            guard let event = make("event.state", .state(phase, time)) else { return }
            offer(event, key: phase.rawValue)
        case .progress(let report): glimpsed(report)
        default: return
        }
    }

    private func glimpsed(_ report: ProgressReport) {
        for one in aliases.withLock({ $0?.moved(report) }) ?? [] where !isSilent.load(ordering: .relaxed) {
            peer.offer(one.event, key: "\(names.request)/\(one.key)", unless: isOver)
        }
        guard kinds.contains(.progress), let event = make("event.progress", .progress(report)) else { return }
        let isTaken = offer(event, key: report.direction.rawValue)
        if !isTaken, report.isLast { owed.withLock { $0.append(report) } }
    }

    @discardableResult
    private func offer(_ event: Event, key: String) -> Bool {
        if keeps { queue.push(event, mayBeLost: true) }
        if isShared.load(ordering: .relaxed) { sharedQueue.push(event, mayBeLost: true) }
        return kinds.contains(.pulled) || peer.offer(event, key: "\(names.request)/\(key)", unless: isOver)
    }

    /// The name and content of the event, if the client wants its kind.
    private func content(
        _ event: ExchangeEvent, _ redaction: Redaction
    ) async -> (String, RequestEventShape.Content)? {
        switch event {
        case .state(let phase, let time):
            return kinds.contains(.state) ? ("event.state", .state(phase, time)) : nil
        case .response(let head, let url, let attempt):
            guard kinds.contains(.response) else { return nil }
            return ("event.response", .response(redaction.head(head), redaction.url(url), attempt))
        case .redirect(let hop, let attempt):
            return kinds.contains(.redirect) ? ("event.redirect", .redirect(redaction.hop(hop), attempt)) : nil
        case .retry(let attempt, let delay, let failure):
            return kinds.contains(.retry) ? ("event.retry", .retry(attempt, delay, failure)) : nil
        case .progress(let report):
            return kinds.contains(.progress) ? ("event.progress", .progress(report)) : nil
        case .finish(let outcome):
            guard kinds.contains(.finish), let finish = finish.withLock({ $0 }),
                let reply = await finish(outcome, redaction)
            else { return nil }
            return ("event.finish", .finish(reply))
        }
    }

    private func make(_ name: String, _ content: RequestEventShape.Content) -> Event? {
        shape(content).map { Event(name, $0) }
    }

    /// The event with the next number; nil once nothing may follow.
    private func shape(_ content: RequestEventShape.Content) -> RequestEventShape? {
        if isSilent.load(ordering: .relaxed) { return nil }
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return RequestEventShape(names: names, number: number, content: content)
    }
}

/// Whoever takes it first has it.
private final class Claim: Sendable {
    private let isTaken = Atomic(false)

    var isGone: Bool { isTaken.load(ordering: .relaxed) }

    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
