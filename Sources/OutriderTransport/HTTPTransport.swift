// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// The transport over real wires: HTTP/1.1 and HTTP/2 on pooled connections, with or without TLS.
///
/// One for the whole service: requests to the same origin with the same trust share its connections. Attempts made on an
/// event loop of the group stay on it; others belong to its first one.
package final class HTTPTransport: Transport {
    package struct Settings: Sendable {
        package var pool = PoolMachine.Config()
        /// Connections of all clients, on all loops, that may be open at once. Default 16,384; less where the process may
        /// open fewer files.
        package var mostConnections = 16_384
        /// Where the secrets of TLS connections are written; nil for nowhere.
        package var keyLog: KeyLog?

        package init() {}
    }

    private let pools: [ConnectionPool]
    let wiring: Wiring

    /// - Parameters:
    ///   - group: one event loop, or several, each of which gets connections of its own.
    ///   - resolver: for host names other than localhost.
    package init(
        group: any EventLoopGroup, settings: Settings = Settings(), resolver: any NameResolver = SystemResolver()
    ) {
        let loops = Array(group.makeIterator())
        let most = settings.mostConnections / max(1, loops.count)
        pools = loops.map { ConnectionPool(on: $0, config: settings.pool, mostConnections: most) }
        wiring = Wiring(resolver: resolver, tls: TLSBridge(keyLog: settings.keyLog))
        wiring.tls.evaluator.fetcher.use { [weak self] attempt throws(HTTPFailure) in
            guard let self else { throw HTTPFailure(.sessionInvalidated, "the service is stopping") }
            return try await self.send(attempt, observer: Unobserved())
        }
    }

    package var loop: any EventLoop { pool.loop }

    package func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        attempt.duplex.map { DuplexRunner(attempt, $0, observer: observer, pool: pool, wiring: wiring) }
            ?? attempt.upgrade.map { UpgradeRunner(attempt, $0, observer: observer, pool: pool, wiring: wiring) }
            ?? AttemptRunner(attempt, observer: observer, pool: pool, wiring: wiring)
    }

    /// How many connections are busy and idle, and how many attempts wait for one, right now.
    package func counts() async -> PoolMachine.Counts {
        var sum = PoolMachine.Counts()
        for pool in pools {
            let counts = await withUnsafeContinuation { continuation in
                pool.loop.execute { continuation.resume(returning: pool.counts) }
            }
            sum.busy += counts.busy
            sum.idle += counts.idle
            sum.waiting += counts.waiting
            sum.http2 += counts.http2
            sum.streams += counts.streams
            sum.draining += counts.draining
        }
        return sum
    }

    /// Closes idle connections.
    package func flush() {
        for pool in pools { pool.loop.execute { pool.flush() } }
    }

    /// Ends the connections of a plan that another one takes the place of: idle ones now, the others with their last request.
    /// Those that the new plan, or that of the service, could have made stay.
    package func retire(_ old: SecurityPlan, for new: SecurityPlan, besides service: SecurityPlan) {
        for pool in pools {
            pool.loop.execute {
                pool.retire { old.mayMake($0) && !new.mayMake($0) && !service.mayMake($0) }
            }
        }
    }

    /// Closes idle connections, and others when they are done; refuses further attempts.
    package func close() {
        for pool in pools { pool.loop.execute { pool.close() } }
    }

    private var pool: ConnectionPool {
        pools.count == 1 ? pools[0] : pools.first { $0.loop.inEventLoop } ?? pools[0]
    }
}

/// For requests of the transport itself.
private struct Unobserved: AttemptObserver {
    func sending(_ control: any AttemptControl) {}
    func bodySent(_ bytes: Int64, onWire: Int64?) {}
    func informational(status: Int, fields: HTTPFields) {}
}
