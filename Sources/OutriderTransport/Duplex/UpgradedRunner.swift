// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The shared part of attempts that use a connection of their own: opening the connection. Everything happens on the
/// pool's loop.
protocol UpgradedRunner: BodyRunner {
    var attempt: Attempt { get }
    var key: PoolKey { get }
    var wiring: Wiring { get }
    /// The connection that is being opened; nil before and afterwards.
    var opening: ConnectionOpening? { get set }
    /// The server, in messages.
    var peer: String { get }
    /// Whether the attempt still waits for its connection.
    var isOpening: Bool { get }

    /// The connection is open.
    func begin(_ connection: UpgradedConnection, _ security: DuplexSecurity?)
    func end(_ failure: HTTPFailure)
}

extension UpgradedRunner {
    /// Opens the connection, after the look at files that the key needs.
    func open() {
        if pool.mustLook(key) { return pool.look(key, wiring.tls, for: attempt.client) { self.connect() } }
        connect()
    }

    private func connect() {
        guard isOpening else { return }
        let opening = ConnectionOpening(attempt, key: key, pool: pool, wiring: wiring)
        self.opening = opening
        opening.start { self.opened($0) }
    }

    private func opened(_ step: ConnectionOpening.Step) {
        switch step {
        case .waits:
            observer.queued()
            clock.awaitConnection()
            pool.deadlines.movedUp(self)
        case .asks(let isAsking): asks(isAsking)
        case .began(let phase):
            clock.enter(phase)
            observer.connecting(phase)
            pool.deadlines.movedUp(self)
        case .bare(let channel, let place, let security):
            opening = nil
            begin(UpgradedConnection(channel, place: place), security)
        case .opened(let connection):
            connection.close()
            end(HTTPFailure(.sessionTaskFailed, "the connection to \(peer) carries requests only"))
        case .failed(let failure): end(failure)
        }
    }

    /// Available on the loop only.
    var timeline: Timeline { pool.loop.inEventLoop ? clock.snapshot : Timeline() }
}
