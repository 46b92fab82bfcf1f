// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Beginning TLS on an open stream (STARTTLS), and closing its reading half.
extension DuplexRunner: DuplexControl {
    func startTLS(
        _ tls: DuplexTLS, written: Int, delivered: Int,
        _ completion: @escaping @Sendable (Result<DuplexSecurity, HTTPFailure>) -> Void
    ) {
        guard pool.loop.inEventLoop else {
            return pool.loop.execute {
                self.startTLS(tls, written: written, delivered: delivered, completion)
            }
        }
        guard stage == .open, !isReadOver, !isWriteOver, let writer else {
            let text = "TLS cannot be begun: the stream to \(peer) is over, or a direction of it has ended"
            return completion(.failure(HTTPFailure(.tcpClosed, text, phase: .tls)))
        }
        guard upgrade == nil, clock.timeline.tlsVersion == nil else {
            let text = "the stream to \(peer) has TLS already"
            return completion(.failure(HTTPFailure(.tlsUpgradeFailed, text, phase: .tls)))
        }
        upgrade = TLSUpgrade(tls: tls, delivered: delivered, completion: completion)
        writer.stop(behind: written)
    }

    /// Begins the handshake once all earlier bytes of the client are sent.
    func secureIfReady() {
        guard let upgrade, !upgrade.isBegun, let connection, connection.unsentBytes == 0 else { return }
        self.upgrade?.isBegun = true
        guard received == upgrade.delivered else {
            let text =
                "\(received &- upgrade.delivered) bytes came from \(peer) in plain that were not read before tcp.startTls: "
                + "they may have been injected, and the stream was closed"
            return end(HTTPFailure(.tlsUpgradeFailed, text, phase: .tls, retryable: false, sent: .sent))
        }
        // the URL of a stream that begins without TLS is not secure, so the key has no policy for the server
        var url = attempt.url
        url.scheme = .https
        let security: ConnectionSecurity
        do throws(HTTPFailure) {
            security = try attempt.security.security(for: url)
        } catch {
            return end(error)
        }
        clock.enter(.tls)
        pool.deadlines.movedUp(self)
        wiring.tls.handshake(
            on: connection.channel, host: upgrade.tls.serverName ?? attempt.url.hostName, port: attempt.url.port,
            security: security, alpn: upgrade.tls.protocols, for: attempt.client,
            callbackRuns: { self.callbackRuns($0) },
            isFirst: true
        ) { self.secured($0.map(DuplexSecurity.init)) }
    }

    private func secured(_ result: Result<DuplexSecurity, HTTPFailure>) {
        guard stage == .open, let upgrade else { return }
        switch result {
        case .success(let security):
            self.upgrade = nil
            clock.enter(.response)
            // a reader that waits already has the whole idle timeout from here
            if body.isAwaited { pool.deadlines.movedUp(self) } else { clock.pause() }
            clock.note(remote: clock.timeline.remote, tls: security.facts)
            upgrade.completion(.success(security))
            writer?.lift()
            connection?.read()
        case .failure(var failure):
            if failure.kind == .tlsHandshakeFailed { failure.kind = .tlsUpgradeFailed }
            failure.sent = .sent
            end(failure)
        }
    }

    func closeRead() {
        guard pool.loop.inEventLoop else { return pool.loop.execute { self.closeRead() } }
        guard stage == .open, !isReadClosed else { return }
        isReadClosed = true
        if isWriteOver { return endInOrder() }
        body.dropPieces()
        deliver()
        // bytes that still come are read and dropped, so that the peer is not blocked and its end is noticed
        connection?.read()
    }
}
