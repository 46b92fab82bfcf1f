// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// The transport over the network: HTTP/1.1 and HTTP/2 on pooled connections, with or without TLS.
///
/// A single transport for the whole service: requests to the same origin with the same trust share its connections.
/// Attempts made on an event loop of the group stay there; others run on the first loop.
package final class HTTPTransport: Transport {
    package struct Settings: Sendable {
        package var pool = PoolMachine.Config()
        /// Open connections of all clients, on all loops. Default 16,384; less if the process may open fewer files.
        package var mostConnections = 16_384
        /// The log of TLS secrets; nil for none.
        package var keyLog: KeyLog?

        package init() {}
    }

    private let pools: [ConnectionPool]
    let wiring: Wiring

    /// - Parameters:
    ///   - group: event loops; each has connections of its own.
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
    package var sharedLoop: any EventLoop { pools[0].loop }

    package func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        if let duplex = attempt.duplex {
            return DuplexRunner(attempt, duplex, observer: observer, pool: pool, wiring: wiring)
        }
        if let upgrade = attempt.upgrade {
            return UpgradeRunner(attempt, upgrade, observer: observer, pool: pool, wiring: wiring)
        }
        return AttemptRunner(attempt, observer: observer, pool: pool, wiring: wiring)
    }

    /// The current number of busy and idle connections, and of waiting attempts.
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

    /// Ends the connections of a replaced plan: idle connections now, others with their last request. Connections that
    /// the new plan, or that of the service, could have made stay.
    package func retire(_ old: SecurityPlan, for new: SecurityPlan, besides service: SecurityPlan) {
        for pool in pools {
            pool.loop.execute {
                pool.retire { old.mayMake($0) && !new.mayMake($0) && !service.mayMake($0) }
            }
        }
    }

    private var pool: ConnectionPool {
        pools.count == 1 ? pools[0] : pools.first { $0.loop.inEventLoop } ?? pools[0]
    }
}

/// The observer for requests of the transport itself.
private final class Unobserved: AttemptObserver {
    func sending(_ control: any AttemptControl) {}
    func bodySent(_ bytes: Int64, onWire: Int64?) {}
    func informational(_: ResponseHead) {}
}
