// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP
import Synchronization

/// TLS for client connections: at least 1.2, HTTP/1.1 by ALPN unless other protocols are named, and certificates always
/// judged, by `TrustEvaluator`.
///
/// One context serves all connections with the same ALPN, since whom to believe is decided outside of it.
final class TLSBridge: Sendable {
    /// By the protocols offered.
    private let contexts = Mutex<[[String]: NIOSSLContext]>([:])
    private let evaluator: TrustEvaluator

    init(evaluator: TrustEvaluator = TrustEvaluator()) { self.evaluator = evaluator }

    /// Which state of its roots a trust means now: connections that were made under another one are not used again. Each
    /// connection has a handshake of its own, since sessions of TLS are not resumed.
    func stamp(of trust: Trust) -> TrustRoots.Stamp? { evaluator.stamp(of: trust) }

    /// Shakes hands as a client and tells the version of TLS and the protocol of ALPN. If it fails, or the channel closes
    /// first, the failure; closing the channel is the caller's business.
    ///
    /// - Parameters:
    ///   - protocols: offered by ALPN; none for no offer.
    ///   - isFirst: whether the channel has carried plain bytes, so that TLS goes before everything that it has.
    func handshake(
        on channel: any Channel, host: String, trust: Trust, for client: ClientKey, protocols: [String] = ["http/1.1"],
        isFirst: Bool = false, _ completion: @escaping (Result<DuplexSecurity, HTTPFailure>) -> Void
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
                context: context(offering: protocols), serverHostname: isAddress ? nil : name,
                customVerificationCallback: { chain, promise in
                    evaluator.judge(chain, of: subject, for: client, on: loop) { failure in
                        watch.verdict = failure
                        promise.succeed(failure == nil ? .certificateVerified : .failed)
                    }
                })
            watch.tls = handler
            try channel.pipeline.syncOperations.addHandlers([handler, watch], position: isFirst ? .first : .last)
            channel.read()
        } catch {
            completion(.failure(FailureBridge.handshake(error, with: name)))
        }
    }

    /// Contexts of protocols that clients name are few; beyond that many they are made anew.
    private static let mostContexts = 16

    private func context(offering protocols: [String]) throws -> NIOSSLContext {
        if let context = contexts.withLock({ $0[protocols] }) { return context }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        // replaced by the evaluator, which brings its own roots: reading them here would cost milliseconds
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        let made = try NIOSSLContext(configuration: configuration)
        return contexts.withLock { contexts in
            if let context = contexts[protocols] { return context }
            if contexts.count < Self.mostContexts { contexts[protocols] = made }
            return made
        }
    }
}
