// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// What the pool needs of an attempt that wants a connection.
protocol PoolWaiter: AnyObject {
    var key: PoolKey { get }
    var connectionsPerHost: Int { get }
    var holder: PoolHolder { get }
    /// Here it is, with a slot.
    func carry(on connection: any AttemptConnection)
    /// There is none to lend, but a place for one: open it.
    func openConnection()
    func refused(_ failure: HTTPFailure)
}

/// Runs `PoolMachine` for all connections of one event loop.
// proof: every method runs on `loop` and asserts it; other threads only carry the reference.
final class ConnectionPool: @unchecked Sendable {
    let loop: any EventLoop
    let deadlines: Deadlines
    let spares: ProxySpares
    /// By how much the windows of HTTP/2 streams may grow.
    let reserve = HTTP2WindowReserve()
    var handshakes = HandshakeQueue()
    private var machine: PoolMachine
    private var idle: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    /// Connections with slots for several attempts, idle ones included; not those that take no new attempts.
    private var shared: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    /// Shared connections that take no new attempts and have not ended.
    private(set) var draining: [PoolMachine.ConnectionID: any AttemptConnection] = [:]
    private var plainOrigins = OriginMemory()
    private var waiters: [PoolMachine.WaiterID: any PoolWaiter] = [:]
    private var lastID: UInt64 = 0
    private var expiry: Scheduled<Void>?
    private var addresses = AddressWatch()
    private var isClosed = false
    private var shares: FairQueue
    /// Those that wait for a place in the share of their client.
    private var unplaced: [FairQueue.ID: Placed] = [:]

    private var generations = TrustGenerations()
    /// When the time of an idle or shared connection may be over; `distantFuture` without TLS.
    private var firstEnd = NIODeadline.distantFuture

    init(on loop: any EventLoop, config: PoolMachine.Config, mostConnections: Int) {
        shares = FairQueue(places: mostConnections, mostWaiting: config.waitersPerKey)
        self.loop = loop
        deadlines = Deadlines(on: loop)
        spares = ProxySpares(on: loop)
        machine = PoolMachine(config)
    }

    var counts: PoolMachine.Counts {
        var counts = machine.counts
        counts.draining = draining.count
        return counts
    }

    /// An id for a connection or a waiter.
    func makeID() -> UInt64 {
        lastID &+= 1
        return lastID
    }

    /// Answers at once or later through one of the methods of `PoolWaiter`. Returns the id for `cancel` if it has to wait.
    func ask(
        _ waiter: any PoolWaiter, isReplay: Bool = false, avoiding: PoolMachine.ConnectionID? = nil
    ) -> PoolMachine.WaiterID? {
        loop.assertInEventLoop()
        guard !isClosed else {
            waiter.refused(HTTPFailure(.sessionInvalidated, "the service is stopping", phase: .queue))
            return nil
        }
        if let own = addresses.changed() { idle.values.filter { $0.facts.isLost(own) }.forEach(dropIdle) }
        if firstEnd != .distantFuture, firstEnd <= .now() { endOverdue() }
        let id = makeID()
        switch machine.ask(
            id, for: waiter.key, limit: waiter.connectionsPerHost, holder: waiter.holder, isReplay: isReplay,
            avoiding: avoiding, now: now)
        {
        case .lend(let connection):
            lend(connection, to: waiter)
        case .open:
            waiter.openConnection()
        case .wait:
            waiters[id] = waiter
            return id
        case .refuse:
            let text = "too many requests wait for a connection to \(waiter.key.host); send fewer at once"
            waiter.refused(HTTPFailure(.limitExceeded, text, phase: .queue, retryable: true))
        }
        return nil
    }

    // MARK: shares

    typealias Placed = (Result<ConnectionPlace, HTTPFailure>) -> Void

    /// Hands over a place for a connection, at once or as soon as the client has fewer connections than are free. Returns
    /// the id for `withdraw` if that must be waited for.
    func place(for client: ClientKey, _ hand: @escaping Placed) -> FairQueue.ID? {
        loop.assertInEventLoop()
        let id = makeID()
        switch shares.enter(id, for: client) {
        case .run: hand(.success(ConnectionPlace(client, self)))
        case .wait:
            unplaced[id] = hand
            evictIdle(for: client)
            return id
        case .refuse:
            let text = "too many requests of this client wait for a connection (send fewer at once)"
            hand(.failure(HTTPFailure(.tooManyOpenFiles, text, phase: .queue)))
        }
        return nil
    }

    func withdraw(_ id: FairQueue.ID, of client: ClientKey) {
        loop.assertInEventLoop()
        unplaced[id] = nil
        _ = shares.cancel(id, of: client)
    }

    func giveBack(_ client: ClientKey) {
        loop.assertInEventLoop()
        for (id, client) in shares.leave(client) {
            guard let hand = unplaced.removeValue(forKey: id) else { continue }
            // not from here, as in `ended`
            let place = ConnectionPlace(client, self)
            loop.assumeIsolated().execute { hand(.success(place)) }
        }
    }

    /// An idle connection is worth less than one that is wanted: of the same client, or of any if all are taken.
    private func evictIdle(for client: ClientKey) {
        let isFull = shares.held >= shares.places
        let candidates = idle.values.filter { isFull || $0.place.client == client }
        if let oldest = candidates.min(by: { $0.id < $1.id }) { dropIdle(oldest) }
    }

    private func dropIdle(_ connection: any AttemptConnection) {
        forgetIdle(connection)
        connection.close()
    }

    private func forgetIdle(_ connection: any AttemptConnection) {
        _ = machine.idleEnded(connection.id, of: connection.key)
        idle[connection.id] = nil
        shared[connection.id] = nil
    }

    // MARK: connections that end

    func cancel(_ waiter: PoolMachine.WaiterID, of key: PoolKey) {
        loop.assertInEventLoop()
        waiters[waiter] = nil
        _ = machine.cancel(waiter, of: key)
    }

    // MARK: trust

    /// Which state of its files connections are made under now.
    func generation(of security: ConnectionSecurity) -> Int { generations.current(of: security) }

    /// Whether the files of a trust must be looked at before a connection is used, once a second at most.
    func mustLook(_ key: PoolKey) -> Bool { key.usesTLS && generations.isDue(key.security) }

    /// Where the files of a trust have changed, ends the connections that rest on the old ones: a root that was removed
    /// vouches for nothing any more. Then calls `done` on the loop: at once if too much of the client's work on files waits
    /// already.
    func look(_ key: PoolKey, _ tls: TLSBridge, for client: ClientKey, then done: @escaping () -> Void) {
        loop.assertInEventLoop()
        let (loop, security, bound) = (loop, key.security, NIOLoopBound(done, eventLoop: loop))
        let isTaken = BlockingThreads.files.run(for: client) {
            let stamps = tls.stamps(of: security)
            loop.execute {
                if self.generations.saw(stamps, of: security) {
                    self.spares.close()
                    self.end { $0.key.usesTLS && $0.key.security == security }
                }
                bound.value()
            }
        }
        if !isTaken { done() }
    }

    /// Ends the connections of securities that a session has given up.
    func retire(_ isGivenUp: (ConnectionSecurity) -> Bool) {
        loop.assertInEventLoop()
        generations.end(isGivenUp)
        end { $0.key.usesTLS && isGivenUp($0.key.security) }
    }

    /// Closes idle connections; connections in use end with their last request.
    private func end(_ isOver: (any AttemptConnection) -> Bool) {
        for connection in idle.values where isOver(connection) { dropIdle(connection) }
        for connection in shared.values where isOver(connection) { connection.drain() }
    }

    /// Ends connections on which no attempt may begin any more.
    private func endOverdue() {
        let now = NIODeadline.now()
        end { $0.facts.until <= now }
        firstEnd = [idle, shared].joined().map(\.value.facts.until).filter { $0 > now }.min() ?? .distantFuture
    }

    /// Whether the files under which the connection was made have changed since, or its time is over.
    private func isOutdated(_ connection: any AttemptConnection, _ key: PoolKey) -> Bool {
        key.usesTLS
            && (connection.generation != generation(of: key.security) || connection.facts.until <= .now())
    }

    /// The connection has done its work.
    func takeBack(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        let key = connection.key
        if isOutdated(connection, key) {
            connection.close()
            return ended(connection)
        }
        switch machine.takeBack(connection.id, of: key, by: connection.holder, now: now) {
        case .lend(let waiter):
            guard let waiter = waiters.removeValue(forKey: waiter) else { return }
            connection.reserve(for: waiter.holder)
            waiter.carry(on: connection)
        case .keep: keep(connection, evicting: nil)
        case .evict(let oldest): keep(connection, evicting: oldest)
        }
        if isClosed { closeIdle() }
    }

    private func keep(_ connection: any AttemptConnection, evicting oldest: PoolMachine.ConnectionID?) {
        idle[connection.id] = connection
        firstEnd = min(firstEnd, connection.facts.until)
        addresses.watch(for: connection.facts)
        if let oldest {
            shared[oldest] = nil
            idle.removeValue(forKey: oldest)?.close()
        } else if unplaced.isEmpty {
            expireLater()
        } else {
            dropIdle(connection)
        }
    }

    /// A connection that carried one attempt at a time, or was to, has come to its end.
    func ended(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        if let next = machine.ended(of: connection.key, by: connection.holder) { serve([next]) }
    }

    /// An attempt to open a connection has come to its end.
    func openingEnded(of key: PoolKey, by holder: PoolHolder, failed: Bool) {
        loop.assertInEventLoop()
        serve(machine.openingEnded(of: key, by: holder, failed: failed))
    }

    /// An attempt to open a connection waits for its place in the share of its client.
    func openingWaits(of key: PoolKey) {
        loop.assertInEventLoop()
        serve(machine.openingWaits(of: key))
    }

    private func serve(_ next: [PoolMachine.Next]) {
        for step in next {
            // not from here: if that fails at once, the next one follows, and so on through a long queue
            switch step {
            case .open(let id):
                guard let waiter = waiters.removeValue(forKey: id) else { continue }
                loop.assumeIsolated().execute { waiter.openConnection() }
            case .lend(let id, let connection):
                guard let waiter = waiters.removeValue(forKey: id) else { continue }
                let connection = idle.removeValue(forKey: connection) ?? shared[connection]
                connection?.reserve(for: waiter.holder)
                loop.assumeIsolated().execute {
                    if let connection { waiter.carry(on: connection) } else { waiter.openConnection() }
                }
            }
        }
    }

    // MARK: shared connections

    /// A connection was opened, and carries the attempt for which it was.
    ///
    /// - Parameter capacity: attempts that it can carry at once; nil for one after the other.
    func opened(_ connection: any AttemptConnection, capacity: Int?) {
        loop.assertInEventLoop()
        guard connection.key.mayBeShared else { return }
        if capacity != nil {
            shared[connection.id] = connection
            firstEnd = min(firstEnd, connection.facts.until)
        }
        serve(
            machine.opened(
                connection.id, of: connection.key, capacity: capacity, by: connection.holder, now: now))
    }

    /// An attempt on a shared connection has ended, or has not begun.
    func release(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        if isOutdated(connection, connection.key) { connection.drain() }
        guard shared[connection.id] != nil else { return }
        switch machine.release(connection.id, of: connection.key, now: now) {
        case .next(let next): serve(next)
        case .idle(.evict(let oldest)): keep(connection, evicting: oldest)
        case .idle: keep(connection, evicting: nil)
        }
        if isClosed { closeIdle() }
    }

    func setCapacity(_ capacity: Int, of connection: any AttemptConnection) {
        loop.assertInEventLoop()
        guard shared[connection.id] != nil else { return }
        serve(machine.setCapacity(capacity, of: connection.id, connection.key))
    }

    /// A shared connection takes no new attempts. `sharedEnded` follows.
    func drains(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        guard shared.removeValue(forKey: connection.id) != nil else { return }
        idle[connection.id] = nil
        draining[connection.id] = connection
        serve(machine.withdraw(connection.id, of: connection.key))
    }

    func sharedEnded(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        draining[connection.id] = nil
        guard shared.removeValue(forKey: connection.id) != nil else { return }
        idle[connection.id] = nil
        serve(machine.withdraw(connection.id, of: connection.key))
    }

    /// The origin wants HTTP/1.1 for a request: it is remembered for a while.
    func needsHTTP11(_ key: PoolKey) { plainOrigins.insert(key, now: now) }

    func isKnownToNeedHTTP11(_ key: PoolKey) -> Bool { plainOrigins.contains(key, now: now) }

    func idleEnded(_ connection: any AttemptConnection) {
        loop.assertInEventLoop()
        forgetIdle(connection)
    }

    /// Closes what is idle now.
    func flush() {
        loop.assertInEventLoop()
        closeIdle()
    }

    /// Closes what is idle, now and from now on, lets shared connections end with their last request, and refuses what comes.
    func close() {
        loop.assertInEventLoop()
        isClosed = true
        closeIdle()
    }

    private func closeIdle() {
        spares.close()
        expiry?.cancel()
        expiry = nil
        for connection in idle.values {
            dropIdle(connection)
        }
        if isClosed { shared.values.forEach { $0.drain() } }
    }

    private func lend(_ id: PoolMachine.ConnectionID, to waiter: any PoolWaiter) {
        guard let connection = idle.removeValue(forKey: id) ?? shared[id] else { return waiter.openConnection() }
        connection.reserve(for: waiter.holder)
        waiter.carry(on: connection)
    }

    var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1e9 }

    /// One task at most is scheduled, for the connection that will have been idle longest.
    private func expireLater() {
        guard expiry == nil, let next = machine.nextExpiry else { return }
        let wait = TimeAmount.seconds(max(0, next - now))
        expiry = loop.assumeIsolated().scheduleTask(in: wait) {
            self.expiry = nil
            for id in self.machine.expire(now: self.now) {
                let connection = self.idle.removeValue(forKey: id) ?? self.shared[id]
                self.shared[id] = nil
                connection?.close()
            }
            self.expireLater()
        }
    }
}

extension PoolKey {
    /// Whether certificates were judged for the connection: the origin's, or those of a proxy.
    var usesTLS: Bool { isSecure || proxy?.server.kind == .https }
}
