// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// A jar that the exchanges of a session use, or all programs of a user that name it.
///
/// Responsible for: a single order of changes, in memory and in the store; notifying observers.
/// Not responsible for: rules (`CookieJar`); files (`JarStore`).
package final class SharedJar: Sendable {
    package typealias Observer = @Sendable ([CookieChange]) -> Void

    private struct State {
        var jar = CookieJar()
        /// Nil if the cookies are not counted.
        var memory: WaitingMemory?
        var observers: [Int: Observer] = [:]
        var nextObserver = 0
        /// The store's counter at the last read; nil before the first read.
        var mark: UInt64?
        /// Counts calls of `cookies.clear` that no store counts.
        var generation: UInt64 = 0
        /// The identity of the store's database; nil before the first read.
        var identity: String?
    }

    /// Distinguishes jars without a database of known identity.
    private let number = UInt64.random(in: 0 ... .max)

    /// Nil for the jar of a single session, which ends with the session.
    package let name: String?
    package let suffixes: PublicSuffixes
    private let store: JarStore?
    private let state = Mutex(State())

    init(name: String? = nil, _ suffixes: PublicSuffixes, store: JarStore? = nil) {
        self.name = name
        self.suffixes = suffixes
        self.store = store
        store?.listen { [weak self] in self?.receive($0) }
    }

    // MARK: exchanges

    /// Nil if another process has changed the store: then call `refresh`, and this again with `evenIfOld`.
    func choose(for request: CookieRequest, evenIfOld: Bool = false) -> CookieJar.Chosen? {
        let mark = store?.mark
        return state.withLock { state in
            guard evenIfOld || mark == state.mark else { return nil }
            let chosen = state.jar.choose(for: request, now: CookieClock.now)
            if let store, !chosen.touched.isEmpty { store.touch(cookies(chosen.touched, of: request.site, state.jar)) }
            return chosen
        }
    }

    func take(_ fields: [FieldText], from request: CookieRequest) -> (changes: [CookieChange], commit: JarCommit?) {
        change { jar in jar.take(fields, from: request, suffixes, now: CookieClock.now) }
    }

    /// Counts the cookies as memory of a client, from the next change on.
    package func count(in quota: BodyQuota) { state.withLock { $0.memory = WaitingMemory(quota) } }

    /// Changes the jar, in memory at once; the store follows in the same order.
    package func change(_ work: (inout CookieJar) -> [CookieChange]) -> (changes: [CookieChange], commit: JarCommit?) {
        typealias Changed = ([CookieChange], JarCommit?, [Observer], [MemoryCharge])
        let (changes, commit, observers, _) = state.withLock { state -> Changed in
            var changes = work(&state.jar)
            // cookies without memory go as beyond the limits of the jar
            if let room = state.memory?.room(for: state.jar.bytes), room < state.jar.bytes {
                changes += state.jar.shrink(to: room, now: CookieClock.now)
            }
            let commit = store.flatMap { $0.write(rows(changes, state.jar)) }
            // memory is given back behind the lock
            return (changes, commit, Array(state.observers.values), state.memory?.fit(state.jar.bytes) ?? [])
        }
        if !changes.isEmpty { for observer in observers { observer(changes) } }
        return (changes, commit)
    }

    /// Reads the changes of other processes.
    package func refresh() async { await store?.read().value() }

    /// On the thread of the store.
    private func receive(_ news: JarNews) {
        let (changes, observers) = state.withLock { state -> ([CookieChange], [Observer]) in
            // rows that wait to be written are newer
            let rows = news.rows.filter { store?.isPending($0.identity) != true }
            let lost = news.isReplaced ? forget(allBut: rows, &state.jar) : []
            // deletions first: they make room
            for row in rows where row.isGone { apply(row, &state.jar) }
            for row in rows where !row.isGone { apply(row, &state.jar) }
            state.mark = news.mark
            if let identity = news.identity { state.identity = identity }
            if news.isRebuilt { store?.rewrite(state.jar.all.map(JarRow.cookie)) }
            return (news.isFirst ? lost : lost + rows.map(\.change), Array(state.observers.values))
        }
        guard !changes.isEmpty else { return }
        for observer in observers { observer(changes) }
    }

    /// Removes the cookies that the store does not have any more, and that do not wait to be written.
    private func forget(allBut rows: [JarRow], _ jar: inout CookieJar) -> [CookieChange] {
        let known = Set(rows.map(\.identity))
        return jar.removeAll { !known.contains($0.identity) && store?.isPending($0.identity) != true }
    }

    private func apply(_ row: JarRow, _ jar: inout CookieJar) {
        let site = suffixes.site(of: row.identity.domain)
        switch row {
        case .cookie(let cookie):
            // a damaged file, or a list of suffixes newer than the cookie
            do throws(CookieError) { try CookieRules.check(cookie, suffixes) } catch { return }
            jar.restore(cookie, site: site)
        case .gone(let identity): jar.remove(identity, site: site)
        }
    }

    /// Rows for the store: the present cookie of each identity, or its deletion.
    private func rows(_ changes: [CookieChange], _ jar: CookieJar) -> [JarRow] {
        changes.compactMap { change in
            guard let identity = change.identity else { return nil }
            return jar.cookie(identity, site: suffixes.site(of: identity.domain)).map(JarRow.cookie) ?? .gone(identity)
        }
    }

    private func cookies(_ identities: [Cookie.Identity], of site: String, _ jar: CookieJar) -> [JarRow] {
        identities.compactMap { jar.cookie($0, site: site).map(JarRow.cookie) }
    }

    // MARK: user

    /// The jar and its generation, by which caches distinguish users.
    var principal: String {
        let generation = state.withLock { $0.generation }
        // one that no store counts must not equal that of another program
        return "\(owner):\(store?.generation ?? 0)" + (generation > 0 ? ".\(number)-\(generation)" : "")
    }

    /// The jar with whose clearing the entries of its users end: two jars of the same name in different directories differ.
    package var owner: String {
        guard let name, store != nil else { return "jar:\(number)" }
        return "jar:\(name)@\(state.withLock { $0.identity } ?? String(number))"
    }

    /// Seals the values of a jar on disk.
    func seal() async throws(JarFailure) { try await store?.seal() }

    /// Marks a change of the jar's user.
    package func raiseGeneration() {
        if store?.raiseGeneration() == true { return }
        state.withLock { $0.generation &+= 1 }
    }

    // MARK: calls

    /// A copy of the jar as it is now; `refresh` first.
    package var contents: CookieJar { state.withLock { $0.jar } }

    /// A jar in memory that begins with the same cookies. Observers of this jar are notified of its changes, too.
    func copy() -> SharedJar {
        let contents = contents
        let copy = SharedJar(name: name, suffixes)
        copy.state.withLock { $0.jar = contents }
        _ = copy.observe { [weak self] in self?.tell($0) }
        return copy
    }

    private func tell(_ changes: [CookieChange]) {
        for observer in state.withLock({ Array($0.observers.values) }) { observer(changes) }
    }

    /// The state of the jar on disk, with its problem; nil for a jar in memory.
    package var storeState: JarStoreState? { store?.storeState }

    /// Why the last changes of a jar on disk are in memory only; nil if they are not.
    package var unwritten: String? { store?.unwritten }

    /// Tells the keeper, on the thread of the store, when changes are in memory only, and when they no longer are.
    func keep(by keeper: @escaping @Sendable (Bool) -> Void) { store?.keep(by: keeper) }

    /// Whether the cookies are on no disk, since the directory of the jar cannot be made.
    var isHomeless: Bool { store?.hasPlace == false }

    /// Notifies the observer of every change from now on, until `unobserve`.
    package func observe(_ observer: @escaping Observer) -> Int {
        state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = observer
            return state.nextObserver
        }
    }

    package func unobserve(_ id: Int) { _ = state.withLock { $0.observers.removeValue(forKey: id) } }
}
