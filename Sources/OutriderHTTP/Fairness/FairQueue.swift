// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides which client's work gets a scarce place: a thread for blocking work, or an open connection.
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
        var wanted: Set<ID> = []

        var isOver: Bool { held == 0 && wanted.isEmpty }

        mutating func next() -> ID? {
            while first < line.count {
                let id = line[first]
                first += 1
                if first > 64, first * 2 > line.count {
                    line.removeFirst(first)
                    first = 0
                }
                if wanted.remove(id) != nil { return id }
            }
            return nil
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

    /// How many places the client holds.
    package func held(by client: ClientKey) -> Int { shares[client]?.held ?? 0 }

    /// Adds work. The id is unique; later calls return the id to run or cancel this work.
    ///
    /// - Parameter isOwed: never refused, because the work releases a resource.
    package mutating func enter(_ id: ID, for client: ClientKey, isOwed: Bool = false) -> Entry {
        var share = shares[client] ?? Share()
        // waiting work keeps its order
        if share.wanted.isEmpty, mayTake(share) {
            share.held += 1
            held += 1
            shares[client] = share
            return .run
        }
        guard isOwed || share.wanted.count < mostWaiting else { return .refuse }
        if share.wanted.isEmpty { turns.append(client) }
        share.line.append(id)
        share.wanted.insert(id)
        shares[client] = share
        return .wait
    }

    /// Ends work that ran. Returns the work to run now, with its clients.
    package mutating func leave(_ client: ClientKey) -> [(id: ID, client: ClientKey)] {
        guard var share = shares[client], share.held > 0 else { return [] }
        share.held -= 1
        held -= 1
        shares[client] = share.isOver ? nil : share
        return fill()
    }

    /// Cancels waiting work. False if the work was not waiting.
    package mutating func cancel(_ id: ID, of client: ClientKey) -> Bool {
        guard var share = shares[client], share.wanted.remove(id) != nil else { return false }
        if share.wanted.isEmpty {
            turns.removeAll { $0 == client }
            share.line = []
            share.first = 0
        }
        shares[client] = share.isOver ? nil : share
        return true
    }

    private func mayTake(_ share: Share) -> Bool { held < places && share.held < places - held }

    private mutating func fill() -> [(id: ID, client: ClientKey)] {
        var found: [(id: ID, client: ClientKey)] = []
        while held < places, let index = turns.firstIndex(where: { shares[$0].map(mayTake) ?? false }) {
            let client = turns.remove(at: index)
            guard var share = shares[client], let id = share.next() else { continue }
            share.held += 1
            held += 1
            if !share.wanted.isEmpty { turns.append(client) }
            shares[client] = share
            found.append((id, client))
        }
        return found
    }
}
