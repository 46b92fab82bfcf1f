// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// The bytes that several caches may hold together: their entries, and bodies on their way into them.
///
/// A full budget makes room: the user whose caches hold most gives up the entries of his largest cache. So no cache is kept
/// from storing by caches that came earlier, and no user takes the room of one who holds less.
package final class CacheBudget: Sendable {
    /// For all caches of the process: 256 MiB, or less if `limit` says so.
    package static let process = CacheBudget(256 << 20)

    private struct Holding {
        weak var holder: CacheStore?
        var user: Int?
        var entries = 0
        var filling = 0

        var bytes: Int { entries &+ filling }
    }

    private struct State {
        var most: Int
        var used = 0
        var holdings: [ObjectIdentifier: Holding] = [:]
    }

    /// Room is made in steps of this share of the budget, so that a full one is not searched for each piece.
    private static let step = 64
    private static let mostSteps = 16

    private let state: Mutex<State>

    package init(_ most: Int) { state = Mutex(State(most: most)) }

    /// Lowers the limit beside a budget for payloads of less than 192 MiB, to four thirds of that budget.
    package func limit(besidePayloadsOf bytes: Int) {
        let share = max(0, min(bytes, 192 << 20)) / 3 * 4
        state.withLock { $0.most = min($0.most, share) }
    }

    /// The bytes that are held beyond the limit.
    var excess: Int { state.withLock { max(0, $0.used &- $0.most) } }

    func join(_ holder: CacheStore, user: Int?) {
        state.withLock { $0.holdings[ObjectIdentifier(holder)] = Holding(holder: holder, user: user) }
    }

    /// The cache ends: its bytes are free.
    func leave(_ holder: CacheStore) {
        let id = ObjectIdentifier(holder)
        state.withLock { state in
            guard let holding = state.holdings.removeValue(forKey: id) else { return }
            state.used &-= holding.bytes
        }
    }

    /// The entries of the cache have so many bytes now.
    func hold(_ bytes: Int, by holder: CacheStore) {
        let id = ObjectIdentifier(holder)
        state.withLock { state in
            state.used &+= bytes &- (state.holdings[id]?.entries ?? bytes)
            state.holdings[id]?.entries = bytes
        }
    }

    /// Takes so many bytes for bodies on their way, if there is room or room can be made.
    func take(_ bytes: Int, for holder: CacheStore) -> Bool {
        if takeFree(bytes, ObjectIdentifier(holder)) { return true }
        relieve(bytes, for: holder)
        return takeFree(bytes, ObjectIdentifier(holder))
    }

    func giveBack(_ bytes: Int, by holder: CacheStore) {
        let id = ObjectIdentifier(holder)
        state.withLock { state in
            guard state.holdings[id] != nil else { return }
            state.used &-= bytes
            state.holdings[id]?.filling &-= bytes
        }
    }

    /// Makes room for so many more bytes. Not to be called with the lock of a cache.
    func relieve(_ bytes: Int, for holder: CacheStore) {
        let id = ObjectIdentifier(holder)
        for _ in 0..<Self.mostSteps {
            let victim = state.withLock { state -> (holder: CacheStore, bytes: Int)? in
                let missing = state.used &+ bytes &- state.most
                guard missing > 0, let found = Self.victim(of: state, for: id) else { return nil }
                return (found, missing &+ state.most / Self.step)
            }
            guard let victim, victim.holder.giveUp(victim.bytes) > 0 else { return }
        }
    }

    /// All caches that share the budget.
    var holders: [CacheStore] { state.withLock { $0.holdings.values.compactMap(\.holder) } }

    private func takeFree(_ bytes: Int, _ id: ObjectIdentifier) -> Bool {
        state.withLock { state in
            guard state.holdings[id] != nil, state.used &+ bytes <= state.most else { return false }
            state.used &+= bytes
            state.holdings[id]?.filling &+= bytes
            return true
        }
    }

    /// The largest cache of the user who holds most. A user who holds less than the asking one gives nothing up.
    private static func victim(of state: State, for id: ObjectIdentifier) -> CacheStore? {
        var totals: [Int?: Int] = [:]
        for holding in state.holdings.values { totals[holding.user, default: 0] &+= holding.bytes }
        let own = state.holdings[id]?.user
        let least = totals[own] ?? 0
        let able = state.holdings.values.filter { holding in
            holding.entries > 0 && (holding.user == own || totals[holding.user, default: 0] > least)
        }
        let chosen = able.max {
            (totals[$0.user, default: 0], $0.entries) < (totals[$1.user, default: 0], $1.entries)
        }
        return chosen?.holder
    }
}
