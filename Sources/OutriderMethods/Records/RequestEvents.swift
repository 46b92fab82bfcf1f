// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC
import Synchronization

/// Sends a client the events of a request.
final class RequestEvents: ExchangeObserver, DecisionOutlet {
    typealias Finish = @Sendable (ExchangeOutcome, Redaction) async -> ResponseReply?

    private let kinds: EventKinds
    private let names: RequestEventShape.Names
    private let peer: any Peer
    private let next = Atomic(0)
    private let isSilent = Atomic(false)
    /// Makes the Response for the last event; nil if a call waits for the request.
    private let finish = Mutex<Finish?>(nil)
    /// Events for `events.next`: decisions always, others only if the client fetches events.
    let queue: EventQueue
    private let keeps: Bool
    /// The same events for other connections of the user, without secrets and decisions. Empty unless the request is
    /// detached.
    let sharedQueue: EventQueue
    private let isShared: Atomic<Bool>
    /// The same progress in the terms of other protocols.
    private let aliases: Mutex<ProgressAliases?>
    private let hasAliases: Bool
    /// The last progress of a direction, if the client had no room.
    private let owed = Mutex<[ProgressReport]>([])

    /// - Parameters:
    ///   - keeps: whether events also wait for `events.next`.
    ///   - quota: of the client whose memory such events take.
    init(
        _ kinds: EventKinds, of request: String, call: RequestID?, tag: String?, peer: any Peer, quota: BodyQuota,
        keeps: Bool = false, isShared: Bool = false, aliases: ProgressAliases? = nil
    ) {
        queue = EventQueue(quota: quota)
        sharedQueue = EventQueue(quota: quota)
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

    /// Whether the client gets events without fetching, including the last.
    var isSent: Bool { kinds.contains(.finish) && !kinds.contains(.pulled) }

    /// Allows other connections of the user to fetch the events from now on.
    func share() { isShared.store(true, ordering: .relaxed) }

    /// The call has its reply: no event may follow.
    func silence() { isSilent.store(true, ordering: .relaxed) }

    @Sendable private func isOver() -> Bool { isSilent.load(ordering: .relaxed) }

    /// Whether that client gets the events.
    func tells(_ peer: any Peer) -> Bool { self.peer === peer }

    /// The call is about to get a reply without an outcome: ends the progress bar and all events.
    func cutShort() async {
        await deliver((aliases.withLock { $0?.end("cancelled") } ?? []).map(\.event))?()
        silence()
    }

    func receive(_ event: ExchangeEvent) -> EventDelivery? {
        var messages = owedMessages()
        if hasAliases { messages += aliasMessages(event) }
        if case .finish(let outcome) = event { return finished(outcome, after: messages) }
        guard let (name, content) = content(event, .none), let shape = shape(content) else { return deliver(messages) }
        let masked = isShared.load(ordering: .relaxed) ? self.content(event, .masked)?.1 : nil
        let message = keep(name, shape, masked: masked, mayBeLost: true)
        if !kinds.contains(.pulled) { messages.append(message) }
        return deliver(messages)
    }

    private func finished(_ outcome: ExchangeOutcome, after messages: [Event]) -> EventDelivery? {
        guard kinds.contains(.finish), let make = finish.withLock({ $0 }) else {
            return deliver(messages) { self.endQueues() }
        }
        return {
            await self.deliver(messages)?()
            await self.tellFinish(outcome, make)
        }
    }

    private func tellFinish(_ outcome: ExchangeOutcome, _ make: Finish) async {
        defer { endQueues() }
        guard let reply = await make(outcome, .none), let shape = shape(.finish(reply)) else { return }
        var masked: RequestEventShape.Content?
        if isShared.load(ordering: .relaxed) { masked = await make(outcome, .masked).map { .finish($0) } }
        let message = keep("event.finish", shape, masked: masked, mayBeLost: false)
        if !kinds.contains(.pulled) { await deliver([message])?() }
    }

    private func endQueues() {
        queue.end()
        sharedQueue.end()
    }

    /// The message of an event, also for the queues of `events.next`.
    ///
    /// - Parameter masked: the content for other connections of the user; nil if the request is not shared.
    private func keep(
        _ name: String, _ shape: RequestEventShape, masked: RequestEventShape.Content?, mayBeLost: Bool
    ) -> Event {
        let message = Event(name, shape)
        if keeps { queue.push(message, mayBeLost: mayBeLost) }
        if let masked {
            let shared = RequestEventShape(names: names, number: shape.number, content: masked)
            sharedQueue.push(Event(name, shared), mayBeLost: mayBeLost)
        }
        return message
    }

    /// Queues the messages for the client, as far as there is room. Returns the remaining work; nil if none.
    private func deliver(
        _ messages: [Event], then end: @escaping @Sendable () -> Void = {}
    ) -> EventDelivery? {
        for (index, message) in messages.enumerated() {
            guard peer.queue(message, unless: isOver) else {
                return {
                    for message in messages[index...] { try? await self.peer.notify(message, unless: self.isOver) }
                    end()
                }
            }
        }
        end()
        return nil
    }

    /// Final progress that the client had no room for earlier.
    private func owedMessages() -> [Event] {
        let reports = owed.withLock { owed in
            defer { owed = [] }
            return owed
        }
        return reports.compactMap { make("event.progress", .progress($0)) }
    }

    private func aliasMessages(_ event: ExchangeEvent) -> [Event] {
        let told = aliases.withLock { aliases -> [ProgressAliases.Told]? in
            switch event {
            case .state: aliases?.begin()
            case .progress(let report): aliases?.moved(report)
            case .finish(let outcome): aliases?.end(outcome.failure?.message)
            default: []
            }
        }
        return isSilent.load(ordering: .relaxed) ? [] : (told ?? []).map(\.event)
    }

    func decision(
        _ shape: DecisionShape, isOpen: @escaping @Sendable () -> Bool, unreadable: @escaping @Sendable () -> Void,
        also inbox: EventQueue
    ) async {
        guard let event = make("event.decision", .decision(shape)) else { return }
        let taken = Claim()
        let claim: @Sendable () -> Bool = { isOpen() && taken.take() }
        let isStale: @Sendable () -> Bool = { !isOpen() || taken.isGone }
        queue.push(event, mayBeLost: false, claim: claim, isStale: isStale, unreadable: unreadable)
        inbox.push(event, mayBeLost: false, claim: claim, isStale: isStale, unreadable: unreadable)
        if kinds.contains(.decision), !kinds.contains(.pulled) { try? await peer.notify(event, unless: isOver) }
    }

    func receiveDroppable(_ event: ExchangeEvent) {
        switch event {
        case .state(let phase, let time) where kinds.contains(.state):
            guard let event = make("event.state", .state(phase, time)) else { return }
            offer(event, key: phase.rawValue)
        case .progress(let report): receiveDroppable(report)
        default: return
        }
    }

    private func receiveDroppable(_ report: ProgressReport) {
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
    ) -> (String, RequestEventShape.Content)? {
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
        case .finish: return nil
        }
    }

    private func make(_ name: String, _ content: RequestEventShape.Content) -> Event? {
        shape(content).map { Event(name, $0) }
    }

    /// The event with the next number; nil once no event may follow.
    private func shape(_ content: RequestEventShape.Content) -> RequestEventShape? {
        if isSilent.load(ordering: .relaxed) { return nil }
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        return RequestEventShape(names: names, number: number, content: content)
    }
}

/// A claim on an event; the first taker gets the event.
private final class Claim: Sendable {
    private let isTaken = Atomic(false)

    var isGone: Bool { isTaken.load(ordering: .relaxed) }

    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
