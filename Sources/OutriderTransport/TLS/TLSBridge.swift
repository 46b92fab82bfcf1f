// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP
import Synchronization

/// TLS for client connections: at least 1.2, HTTP/1.1 by ALPN, and certificates always judged, by `TrustEvaluator`.
///
/// One context serves all connections, since whom to believe is decided outside of it.
final class TLSBridge: Sendable {
    private let context = Mutex<NIOSSLContext?>(nil)
    private let evaluator: TrustEvaluator

    init(evaluator: TrustEvaluator = TrustEvaluator()) { self.evaluator = evaluator }

    /// Which state of its roots a trust means now: connections that were made under another one are not used again. Each
    /// connection has a handshake of its own, since sessions of TLS are not resumed.
    func stamp(of trust: Trust) -> TrustRoots.Stamp? { evaluator.stamp(of: trust) }

    /// Shakes hands as a client and tells the version of TLS, "TLSv1.3". If it fails, or the channel closes first, the
    /// failure; closing the channel is the caller's business.
    func handshake(
        on channel: any Channel, host: String, trust: Trust, for client: ClientKey,
        _ completion: @escaping (Result<String?, HTTPFailure>) -> Void
    ) {
        channel.eventLoop.assertInEventLoop()
        let isAddress = (try? SocketAddress(ipAddress: host, port: 1)) != nil
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        let watch = HandshakeWatch(host: name, completion)
        let subject = TrustEvaluator.Subject(host: name, isAddress: isAddress, trust: trust)
        let loop = channel.eventLoop
        let evaluator = evaluator
        do {
            let handler = try NIOSSLClientHandler(
                context: sharedContext(), serverHostname: isAddress ? nil : name,
                customVerificationCallback: { chain, promise in
                    evaluator.judge(chain, of: subject, for: client, on: loop) { failure in
                        watch.verdict = failure
                        promise.succeed(failure == nil ? .certificateVerified : .failed)
                    }
                })
            watch.tls = handler
            try channel.pipeline.syncOperations.addHandlers(handler, watch)
            channel.read()
        } catch {
            completion(.failure(FailureBridge.handshake(error, with: name)))
        }
    }

    private func sharedContext() throws -> NIOSSLContext {
        if let context = context.withLock({ $0 }) { return context }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        // replaced by the evaluator, which brings its own roots: reading them here would cost milliseconds
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        let made = try NIOSSLContext(configuration: configuration)
        return context.withLock { context in
            if let context { return context }
            context = made
            return made
        }
    }
}
