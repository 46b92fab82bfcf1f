// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides which client's work gets scarce places: a thread for blocking work, an open connection, or bytes of memory.
///
///     enter ──▶ run ──▶ leave ──▶ the next to run
///       ├─────▶ wait ─▶ cancel
///       └─────▶ refuse
///
/// A client may take a place while it holds fewer places than are free: a single client gets half of all places, a
/// second client half of the rest, and so on; a new client finds a place at once. Work that hangs delays only its own
/// client. The waiting work of a client runs in the order of arrival, and clients take turns.
///
/// The caller keeps the work behind each id.
package struct FairQueue: Sendable {
    package typealias ID = UInt64

    package enum Entry: Equatable, Sendable {
        case run
        case wait
        /// Too much work of this client waits already.
        case refuse
    }

    /// The work of a client.
    private struct Share {
        var held = 0
        /// In the order of arrival; cancelled ids stay until their turn.
        var line: [ID] = []
        /// The index of the first waiting id.
        var first = 0
        /// The places that waiting work takes.
        var wanted: [ID: Int] = [:]

        var isOver: Bool { held == 0 && wanted.isEmpty }

        /// The work that is next; nil if none waits.
        mutating func peek() -> ID? {
            while first < line.count {
                if wanted[line[first]] != nil { return line[first] }
                skip()
            }
            return nil
        }

        /// The places that the next work takes; nil if none waits.
        mutating func weight() -> Int? { peek().flatMap { wanted[$0] } }

        mutating func next() -> (id: ID, weight: Int)? {
            guard let id = peek(), let weight = wanted[id] else { return nil }
            skip()
            wanted[id] = nil
            return (id, weight)
        }

        private mutating func skip() {
            first += 1
            if first > 64, first * 2 > line.count {
                line.removeFirst(first)
                first = 0
            }
        }
    }

    package let places: Int
    private let mostWaiting: Int
    private var shares: [ClientKey: Share] = [:]
    /// Clients with waiting work, in the order of their turns.
    private var turns: [ClientKey] = []
    package private(set) var held = 0

    /// - Parameters:
    ///   - places: the limit of running work.
    ///   - mostWaiting: the limit of waiting work per client; further work is refused.
    package init(places: Int, mostWaiting: Int) {
        self.places = max(1, places)
        self.mostWaiting = mostWaiting
    }

    /// The clients that hold places or wait, and how many they hold.
    package var holders: [(client: ClientKey, held: Int)] { shares.map { ($0.key, $0.value.held) } }

    /// Whether work waits.
    package var isAwaited: Bool { !turns.isEmpty }

    /// Adds work. The id is unique; later calls return the id to run or cancel this work.
    ///
    /// - Parameters:
    ///   - weight: the places that the work takes.
    ///   - isOwed: never refused, because the work releases a resource.
    package mutating func enter(
        _ id: ID, for client: ClientKey, weight: Int = 1, isOwed: Bool = false
    ) -> Entry {
        var share = shares[client] ?? Share()
        // waiting work keeps its order
        if share.wanted.isEmpty, mayTake(share, weight) {
            share.held += weight
            held += weight
            shares[client] = share
            return .run
        }
        guard isOwed || share.wanted.count < mostWaiting else { return .refuse }
        if share.wanted.isEmpty { turns.append(client) }
        share.line.append(id)
        share.wanted[id] = weight
        shares[client] = share
        return .wait
    }

    /// Takes places at once, without regard to waiting work; false if the client may not have them.
    ///
    /// - Parameter limit: the places that may be taken in this way; all by default.
    package mutating func take(_ weight: Int, for client: ClientKey, within limit: Int = .max) -> Bool {
        let share = shares[client] ?? Share()
        guard mayTake(share, weight, of: min(limit, places)) else { return false }
        takeAnyway(weight, for: client)
        return true
    }

    /// Takes places even beyond the limit.
    package mutating func takeAnyway(_ weight: Int, for client: ClientKey) {
        shares[client, default: Share()].held += weight
        held += weight
    }

    /// Ends work that ran. Returns the work to run now, with its clients.
    package mutating func leave(_ client: ClientKey, weight: Int = 1) -> [(id: ID, client: ClientKey)] {
        guard var share = shares[client], share.held >= weight else { return [] }
        share.held -= weight
        held -= weight
        shares[client] = share.isOver ? nil : share
        return fill()
    }

    /// The work whose turn is next, even beyond the limit: takes its places. Nil if none waits.
    ///
    /// - Parameter isAllowed: whether the work may exceed the limit.
    package mutating func runNext(_ isAllowed: (ID) -> Bool = { _ in true }) -> (id: ID, client: ClientKey)? {
        let index = turns.firstIndex { client in
            var share = shares[client]
            return share?.peek().map(isAllowed) == true
        }
        guard let index else { return nil }
        let client = turns.remove(at: index)
        return begin(client).map { ($0, client) }
    }

    /// Cancels waiting work. False if the work was not waiting.
    package mutating func cancel(_ id: ID, of client: ClientKey) -> Bool {
        guard var share = shares[client], share.wanted.removeValue(forKey: id) != nil else { return false }
        if share.wanted.isEmpty {
            turns.removeAll { $0 == client }
            share.line = []
            share.first = 0
        }
        shares[client] = share.isOver ? nil : share
        return true
    }

    private func mayTake(_ share: Share, _ weight: Int) -> Bool { mayTake(share, weight, of: places) }

    private func mayTake(_ share: Share, _ weight: Int, of places: Int) -> Bool {
        let free = places - held
        return weight <= free && weight <= free - share.held
    }

    /// The work to run now: after `cancel`, smaller work of the same client may find places.
    package mutating func fill() -> [(id: ID, client: ClientKey)] {
        var found: [(id: ID, client: ClientKey)] = []
        while held < places, let index = turns.firstIndex(where: { mayRun($0) }) {
            let client = turns.remove(at: index)
            if let id = begin(client) { found.append((id, client)) }
        }
        return found
    }

    private func mayRun(_ client: ClientKey) -> Bool {
        guard var share = shares[client], let weight = share.weight() else { return false }
        return mayTake(share, weight)
    }

    /// Takes the places for the next work of the client, which has its turn.
    private mutating func begin(_ client: ClientKey) -> ID? {
        guard var share = shares[client], let (id, weight) = share.next() else { return nil }
        share.held += weight
        held += weight
        if !share.wanted.isEmpty { turns.append(client) }
        shares[client] = share
        return id
    }
}
