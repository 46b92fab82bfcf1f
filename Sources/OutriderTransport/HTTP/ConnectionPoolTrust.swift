// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Trust in servers that changes while connections are open: its files, and the securities of sessions.
extension ConnectionPool {
    /// The current generation of the trust's files.
    func generation(of security: ConnectionSecurity) -> Int { generations.current(of: security) }

    /// Whether the files of a trust must be checked before a connection is used: once a second at most, but for each
    /// request with a client certificate, which says whose the request is.
    func mustLook(_ key: PoolKey) -> Bool {
        key.usesTLS && (key.security.settings.identity != nil || generations.isDue(key.security))
    }

    /// Checks the files of a trust, and ends connections that rest on an old version: a removed root is not trusted any
    /// more. Then calls `done` on the loop: at once if too much of the client's file work is queued already.
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

    /// Ends connections with a security that its session has given up.
    func retire(_ isGivenUp: (ConnectionSecurity) -> Bool) {
        loop.assertInEventLoop()
        generations.end(isGivenUp)
        end { $0.key.usesTLS && isGivenUp($0.key.security) }
    }

    /// Whether the machine has slept, or the trust's files have changed, since the connection was opened, or the time
    /// limit of the connection has passed.
    func isOutdated(_ connection: any AttemptConnection, _ key: PoolKey) -> Bool {
        isFromBeforeSleep(connection)
            || key.usesTLS
                && (connection.generation != generation(of: key.security) || connection.facts.until <= .now())
    }
}

extension PoolKey {
    /// Whether TLS was used: with the origin, or with a proxy.
    var usesTLS: Bool { isSecure || proxy?.server.kind == .https }
}
