// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP

/// Notices that this machine has lost an address, or has slept: nothing may arrive on connections from before.
///
/// A check costs a system call, and happens only once there was a connection beyond the loopback, or a tunnel.
struct AddressWatch {
    /// Seconds between two looks while there are connections of HTTP/1.
    static let interval = 5.0
    /// Seconds of sleep that connections outlive.
    private static let shortSleep = 10.0

    private var socket: RouteSocket?
    private var isOpened = false
    /// Whether the addresses are to be read, though the socket tells no change.
    private var isDue = false
    /// The addresses at the last look; nil before any.
    private var own: Set<[UInt8]>?
    /// Connections of HTTP/1 beyond the loopback; connections of HTTP/2 send PINGs.
    private var outward: [PoolMachine.ConnectionID: HTTP1Connection] = [:]
    /// Connections whose address was gone at the last look.
    private var suspects: Set<PoolMachine.ConnectionID> = []
    /// Seconds for which the machine had slept at the last look; nil before any connection that leads out.
    private var slept: Double?
    /// Sleeps that connections do not outlive.
    var sleeps = 0
    fileprivate var lookout: Scheduled<Void>?

    /// A new connection could lose the local address, or not outlive a sleep.
    mutating func watch(for facts: ConnectionFacts) {
        if facts.leadsOut, slept == nil { slept = Self.secondsAsleep }
        guard !isOpened, facts.local != nil else { return }
        // the connection is older than the socket
        (isOpened, isDue) = (true, true)
        socket = RouteSocket()
    }

    /// Since the start of the machine: only the first clock goes on during sleep.
    private static var secondsAsleep: Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        let awake = Double(NIODeadline.now().uptimeNanoseconds) / 1e9
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 - awake
    }

    /// Whether the machine has slept for long since the last call. Servers and routers may have dropped connections
    /// meanwhile, and could not tell.
    mutating func hasSlept() -> Bool {
        guard let before = slept else { return false }
        let asleep = Self.secondsAsleep
        slept = asleep
        guard asleep - before > Self.shortSleep else { return false }
        sleeps &+= 1
        return true
    }

    /// The addresses of this machine; nil if known, and without a change since the last call.
    mutating func changed() -> Set<[UInt8]>? {
        guard let socket, socket.hasRung() || isDue else { return nil }
        let now = NetworkPath.localAddresses()
        isDue = now == nil
        own = now ?? own
        return now
    }

    fileprivate mutating func add(_ connection: HTTP1Connection) { outward[connection.id] = connection }

    fileprivate mutating func remove(_ id: PoolMachine.ConnectionID) { outward[id] = nil }

    fileprivate var isEmpty: Bool { outward.isEmpty }

    /// The connections whose address has been gone for two looks: an address may be back soon, with its connections.
    fileprivate mutating func lost() -> [HTTP1Connection] {
        guard let own else { return [] }
        let gone = outward.filter { $0.value.facts.isLost(own) }
        defer { suspects = Set(gone.keys) }
        return gone.filter { suspects.contains($0.key) }.map(\.value)
    }
}

extension ConnectionPool {
    /// Watches the local address of a new connection. TCP would notice the loss after two minutes.
    func watch(_ connection: HTTP1Connection) {
        guard connection.facts.local != nil else { return }
        addresses.add(connection)
        lookLater()
    }

    /// The connection has ended.
    func unwatch(_ connection: HTTP1Connection) {
        if connection.facts.local != nil { addresses.remove(connection.id) }
    }

    private func lookLater() {
        guard addresses.lookout == nil, !addresses.isEmpty else { return }
        addresses.lookout = loop.assumeIsolated().scheduleTask(in: .seconds(AddressWatch.interval)) {
            self.addresses.lookout = nil
            self.endUnreachable()
            for connection in self.addresses.lost() { connection.lose() }
            self.lookLater()
        }
    }

    /// Whether a connection to another machine was opened before the last sleep.
    func isFromBeforeSleep(_ connection: any AttemptConnection) -> Bool {
        guard addresses.sleeps > 0 else { return false }
        let facts = connection.facts
        return facts.leadsOut && facts.sleeps != addresses.sleeps
    }

    /// Ends connections without a request from addresses that are gone, and from before a sleep.
    func endUnreachable() {
        if addresses.hasSlept() {
            spares.close()
            end { isFromBeforeSleep($0) }
        }
        if let own = addresses.changed() { end { $0.facts.isLost(own) } }
    }
}

extension ConnectionFacts {
    /// Whether the connection's own address is missing among these.
    ///
    /// A route to this machine itself may lead whole networks here, whose addresses no interface has.
    func isLost(_ own: Set<[UInt8]>) -> Bool { local.map { !own.contains($0) && !NetworkPath.isOwn($0) } ?? false }
}
