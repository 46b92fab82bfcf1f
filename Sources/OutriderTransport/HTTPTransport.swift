// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
import NIOPosix
package import OutriderHTTP

/// The transport over real wires: HTTP/1.1 on pooled connections, with or without TLS.
///
/// One for the whole daemon: whoever asks for the same origin with the same trust shares its connections. Calls made on
/// an event loop of the group stay on it; others are carried by its first one.
package final class HTTPTransport: LoopTransport {
    package struct Settings: Sendable {
        package var pool = PoolMachine.Config()

        package init() {}
    }

    private let pools: [ConnectionPool]
    private let wiring: Wiring

    /// - Parameters:
    ///   - group: one event loop, or several, each of which gets connections of its own.
    ///   - resolver: for host names other than localhost.
    package init(
        group: any EventLoopGroup, settings: Settings = Settings(), resolver: any NameResolver = SystemResolver()
    ) {
        pools = group.makeIterator().map { ConnectionPool(on: $0, config: settings.pool) }
        let files = NIOThreadPool(numberOfThreads: 2)
        files.start()
        wiring = Wiring(resolver: resolver, tls: TLSBridge(), files: files)
    }

    package func send(
        _ attempt: Attempt, observer: any AttemptObserver
    ) async throws(HTTPFailure) -> AttemptResponse {
        let pool = pool
        let loop = pool.loop
        let runner = AttemptRunner(attempt, observer: observer, pool: pool, wiring: wiring)
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: AttemptRunner.HeadContinuation) in
                let start = { @Sendable in runner.start { continuation.resume(returning: $0) } }
                if loop.inEventLoop { start() } else { loop.execute(start) }
            }
        } onCancel: {
            loop.execute { runner.cancel() }
        }.get()
    }

    package var isHere: Bool { pool.loop.inEventLoop }

    package func make(_ attempt: Attempt, observer: any AttemptObserver) -> any LoopAttempt {
        AttemptRunner(attempt, observer: observer, pool: pool, wiring: wiring)
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
        }
        return sum
    }

    /// Closes idle connections.
    package func flush() {
        for pool in pools { pool.loop.execute { pool.flush() } }
    }

    /// Closes idle connections, and others when they are done; refuses further attempts.
    package func close() {
        for pool in pools { pool.loop.execute { pool.close() } }
    }

    private var pool: ConnectionPool {
        pools.count == 1 ? pools[0] : pools.first { $0.loop.inEventLoop } ?? pools[0]
    }
}
