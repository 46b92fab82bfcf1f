// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// A jar that the exchanges of a session use, or all programs of a user that name it.
///
/// Responsible for: one order of changes, in memory and in the store; telling observers.
/// Not responsible for: rules (`CookieJar`); files (`JarStore`).
package final class SharedJar: Sendable {
    package typealias Observer = @Sendable ([CookieChange]) -> Void

    private struct State {
        var jar = CookieJar()
        var observers: [Int: Observer] = [:]
        var nextObserver = 0
        /// The counter of the store that the jar in memory was read at; nil before the first reading.
        var mark: UInt64?
        /// Counts calls of `cookies.clear`, for a jar in memory.
        var generation: UInt64 = 0
    }

    /// Tells jars in memory apart.
    private let number = UInt64.random(in: 0 ... .max)

    /// Nil for the jar of one session, which ends with it.
    package let name: String?
    package let suffixes: PublicSuffixes
    private let store: JarStore?
    private let state = Mutex(State())

    /// Why a named jar has no store.
    private let problem: String?

    init(name: String? = nil, _ suffixes: PublicSuffixes, store: JarStore? = nil, problem: String? = nil) {
        self.name = name
        self.suffixes = suffixes
        self.store = store
        self.problem = problem
        store?.listen { [weak self] in self?.receive($0) }
    }

    /// Microseconds since 1970.
    package static var now: Int64 {
        let time = WallTime.now
        return Int64(time.seconds) &* Cookie.second &+ Int64(time.nanoseconds / 1000)
    }

    // MARK: exchanges

    /// Nil if another process has changed the store: then `refresh` first, and ask again with `evenIfOld`.
    func choose(for request: CookieRequest, evenIfOld: Bool = false) -> CookieJar.Chosen? {
        let mark = store?.mark
        return state.withLock { state in
            guard evenIfOld || mark == state.mark else { return nil }
            let chosen = state.jar.choose(for: request, now: Self.now)
            if let store, !chosen.touched.isEmpty { store.touch(cookies(chosen.touched, of: request.site, state.jar)) }
            return chosen
        }
    }

    func take(_ fields: [String], from request: CookieRequest) -> (changes: [CookieChange], commit: JarCommit?) {
        change { jar in jar.take(fields, from: request, suffixes, now: Self.now) }
    }

    /// Changes the jar, in memory at once; the store follows in the same order.
    package func change(_ work: (inout CookieJar) -> [CookieChange]) -> (changes: [CookieChange], commit: JarCommit?) {
        let (changes, commit, observers) = state.withLock { state -> ([CookieChange], JarCommit?, [Observer]) in
            let changes = work(&state.jar)
            let commit = store.flatMap { $0.write(rows(changes, state.jar)) }
            return (changes, commit, Array(state.observers.values))
        }
        if !changes.isEmpty { for observer in observers { observer(changes) } }
        return (changes, commit)
    }

    /// Reads what other processes have changed.
    package func refresh() async { await store?.read().value() }

    /// On the thread of the store.
    private func receive(_ news: JarNews) {
        let (changes, observers) = state.withLock { state -> ([CookieChange], [Observer]) in
            // what waits to be written is newer
            let rows = news.rows.filter { store?.isPending($0.identity) != true }
            // deletions first: they make room
            for row in rows where row.isGone { apply(row, &state.jar) }
            for row in rows where !row.isGone { apply(row, &state.jar) }
            state.mark = news.mark
            if news.isRebuilt { store?.touch(state.jar.all.map(JarRow.cookie)) }
            return (news.isFirst ? [] : rows.map(\.change), Array(state.observers.values))
        }
        guard !changes.isEmpty else { return }
        for observer in observers { observer(changes) }
    }

    private func apply(_ row: JarRow, _ jar: inout CookieJar) {
        let site = suffixes.site(of: row.identity.domain)
        switch row {
        case .cookie(let cookie):
            // a damaged file, or a list of suffixes that is newer than the cookie
            do throws(CookieError) { try CookieRules.check(cookie, suffixes) } catch { return }
            jar.restore(cookie, site: site)
        case .gone(let identity): jar.remove(identity, site: site)
        }
    }

    /// What the store has to be told: the present cookie of each identity, or that it is gone.
    private func rows(_ changes: [CookieChange], _ jar: CookieJar) -> [JarRow] {
        changes.compactMap { change in
            guard let identity = change.identity else { return nil }
            return jar.cookie(identity, site: suffixes.site(of: identity.domain)).map(JarRow.cookie) ?? .gone(identity)
        }
    }

    private func cookies(_ identities: [Cookie.Identity], of site: String, _ jar: CookieJar) -> [JarRow] {
        identities.compactMap { jar.cookie($0, site: site).map(JarRow.cookie) }
    }

    // MARK: whose it is

    /// The jar and its generation, by which caches tell users apart.
    var principal: String {
        guard let name, let store else { return "jar:\(number):\(state.withLock { $0.generation })" }
        return "jar:\(name):\(store.generation)"
    }

    /// The jar with whose clearing the entries of its users end.
    package var owner: String { "jar:\(store == nil ? String(number) : name ?? String(number))" }

    /// Seals the values of a jar on disk.
    func seal() async throws(JarFailure) { try await store?.seal() }

    /// The next user of the jar is another one.
    package func raiseGeneration() {
        if let store { return store.raiseGeneration() }
        state.withLock { $0.generation &+= 1 }
    }

    // MARK: calls

    /// A copy of the jar as it is now; `refresh` first.
    package var contents: CookieJar { state.withLock { $0.jar } }

    /// Where the jar is on disk, and what is wrong with the store; nil for a jar in memory.
    package var storeState: JarStoreState? {
        store?.storeState ?? problem.map { JarStoreState(path: "", problem: $0) }
    }

    /// Tells the observer of every change from now on, until `unobserve`.
    package func observe(_ observer: @escaping Observer) -> Int {
        state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = observer
            return state.nextObserver
        }
    }

    package func unobserve(_ id: Int) { _ = state.withLock { $0.observers.removeValue(forKey: id) } }
}

/// A row of a store: a cookie, or that there is none any more.
enum JarRow: Sendable {
    case cookie(Cookie)
    case gone(Cookie.Identity)

    var identity: Cookie.Identity {
        switch self {
        case .cookie(let cookie): cookie.identity
        case .gone(let identity): identity
        }
    }

    fileprivate var isGone: Bool { if case .gone = self { true } else { false } }

    /// How a change by another process is told: whether the cookie was there before is not known.
    fileprivate var change: CookieChange {
        switch self {
        case .cookie(let cookie): CookieChange(.replaced, cookie)
        case .gone(let identity):
            CookieChange(.deleted, Cookie(name: identity.name, value: "", domain: identity.domain, path: identity.path))
        }
    }
}

extension Cookie {
    fileprivate init(name: String, value: String, domain: String, path: String) {
        self.init(name: name, value: value, domain: domain)
        self.path = path
    }
}
