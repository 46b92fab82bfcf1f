// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Opens one connection for an attempt: name, address, TLS, parser. Says when each phase ends; has no deadlines itself.
// proof: every method runs on the pool's loop and asserts it; other threads only carry the reference.
final class ConnectionOpening: @unchecked Sendable {
    enum Step {
        /// The phase that is beginning: resolve, connect or tls.
        case began(HTTPFailure.Phase)
        case opened(HTTP1Connection)
        case failed(HTTPFailure)
    }

    private let url: HTTPURL
    private let key: PoolKey
    private let pool: ConnectionPool
    private let wiring: Wiring
    private var tell: ((Step) -> Void)?
    private var connector: Connector?
    private var channel: (any Channel)?

    init(_ url: HTTPURL, key: PoolKey, pool: ConnectionPool, wiring: Wiring) {
        self.url = url
        self.key = key
        self.pool = pool
        self.wiring = wiring
    }

    func start(_ tell: @escaping (Step) -> Void) {
        pool.loop.assertInEventLoop()
        self.tell = tell
        do throws(HTTPFailure) {
            if let addresses = try url.knownAddresses() { return connect(to: addresses) }
        } catch {
            return fail(error)
        }
        tell(.began(.resolve))
        wiring.resolver.addresses(of: url.host, port: url.port, on: pool.loop).hop(to: pool.loop)
            .assumeIsolated().whenComplete { result in
                switch result {
                case .success(let addresses): self.connect(to: addresses)
                case .failure(let error): self.fail(error as? HTTPFailure ?? .notFound(self.url.host, error))
                }
            }
    }

    /// Gives up; nothing more is told.
    func cancel() {
        pool.loop.assertInEventLoop()
        tell = nil
        connector?.cancel()
        connector = nil
        channel?.close(promise: nil)
        channel = nil
    }

    private func connect(to addresses: [SocketAddress]) {
        guard let tell else { return }
        tell(.began(.connect))
        let connector = Connector(to: addresses, on: pool.loop)
        self.connector = connector
        connector.start { result in
            self.connector = nil
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let failure): self.fail(failure)
            }
        }
    }

    private func connected(_ channel: any Channel) {
        guard let tell else { return channel.close(promise: nil) }
        self.channel = channel
        guard key.isSecure else { return finish(channel, tlsVersion: nil) }
        tell(.began(.tls))
        wiring.tls.handshake(on: channel, host: url.hostName, trust: key.trust) { result in
            switch result {
            case .success(let version): self.finish(channel, tlsVersion: version)
            case .failure(let failure): self.fail(failure)
            }
        }
    }

    private func finish(_ channel: any Channel, tlsVersion: String?) {
        guard let tell else { return channel.close(promise: nil) }
        let connection = HTTP1Connection(
            id: pool.makeID(), key: key, channel: channel, remote: channel.remoteAddress?.plain ?? key.socketPath,
            tlsVersion: tlsVersion, pool: pool)
        do {
            try connection.install()
        } catch {
            return fail(FailureBridge.exchange(error, with: url.host, phase: .connect))
        }
        self.tell = nil
        self.channel = nil
        tell(.opened(connection))
    }

    private func fail(_ failure: HTTPFailure) {
        guard let tell else { return }
        cancel()
        tell(.failed(failure))
    }
}

extension HTTPFailure {
    fileprivate static func notFound(_ host: String, _ error: any Error) -> HTTPFailure {
        HTTPFailure(
            .nameNotFound, "the host name \(host) could not be looked up", phase: .resolve,
            underlying: FailureBridge.underlying(error))
    }
}
