// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// The shared part of attempts that use a connection of their own: opening the connection, and reading from it.
/// Everything happens on the pool's loop.
protocol UpgradedRunner: BodyRunner {
    var attempt: Attempt { get }
    var key: PoolKey { get }
    var wiring: Wiring { get }
    /// The connection that is being opened; nil before and afterwards.
    var opening: ConnectionOpening? { get set }
    var connection: UpgradedConnection? { get set }
    /// Completes the call of the exchange; nil once completed.
    var waiting: ((Result<AttemptResponse, HTTPFailure>) -> Void)? { get set }
    /// Received bytes.
    var body: BodyQueue { get set }
    /// Nothing is read, because the attempt is held or the body has no room.
    var isReadPaused: Bool { get set }
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
        observer.waiting(self)
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
        case .callbackRuns(let isCallbackRunning): callbackRuns(isCallbackRunning)
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

    /// Takes over an open connection. False if the attempt has ended instead.
    func adopt(_ connection: UpgradedConnection) -> Bool {
        self.connection = connection
        do {
            try connection.install()
            return true
        } catch {
            end(FailureBridge.exchange(error, with: peer, phase: .connect))
            return false
        }
    }

    /// Gives back all that the attempt holds at its end.
    func dropConnection() {
        clock.end()
        pool.deadlines.forget(self)
        opening?.cancel()
        opening = nil
        connection?.close()
        connection = nil
    }

    func resume(_ result: Result<AttemptResponse, HTTPFailure>) {
        guard let waiting else { return }
        self.waiting = nil
        waiting(result)
    }

    /// The next received bytes; nil if the caller must wait.
    func takeNext() -> Result<ByteBuffer?, HTTPFailure>? {
        pool.loop.assertInEventLoop()
        switch body.next() {
        case .piece(let piece):
            clock.decoded(piece.readableBytes)
            if isReadPaused, !isHeld, body.hasRoom { readMore() }
            return .success(piece)
        case .end: return .success(nil)
        case .failed(let failure):
            end(failure)
            return .failure(failure)
        case .wait: return nil
        }
    }

    func readMore() {
        isReadPaused = isHeld
        if !isHeld { connection?.read() }
    }

    /// Available on the loop only.
    var timeline: Timeline { pool.loop.inEventLoop ? clock.snapshot : Timeline() }
}
