// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP

/// TLS for client connections: at least 1.2, and certificates always judged by `TrustEvaluator`, by the policy for the host.
final class TLSBridge: Sendable {
    let evaluator: TrustEvaluator
    private let identities = IdentityLoader()
    private let keyLog: KeyLog?

    init(evaluator: TrustEvaluator = TrustEvaluator(), keyLog: KeyLog? = nil) {
        self.evaluator = evaluator
        self.keyLog = keyLog
    }

    /// Which state the files of a security are in now: connections that were made under another one are not used again.
    /// Each connection has a handshake of its own, since sessions of TLS are not resumed.
    func stamps(of security: ConnectionSecurity) -> FileStamps {
        let (roots, others) = evaluator.stamps(of: security)
        return roots.joined(others).joined(FileStamps(security.settings.identity?.files ?? []))
    }

    /// Shakes hands as a client and tells what was settled. If it fails, or the channel closes first, the failure; closing
    /// the channel is the caller's business.
    ///
    /// - Parameters:
    ///   - alpn: the protocols to offer, the preferred first; none for no offer.
    ///   - callbackRuns: told when code of a client is called, during which no time passes, and when that is over.
    ///   - isFirst: whether the channel has carried plain bytes, so that TLS goes before everything that it has.
    func handshake(
        on channel: any Channel, host: String, port: Int, security: ConnectionSecurity,
        addresses: AddressPolicy = .any, alpn: [String] = ["http/1.1"], for client: ClientKey,
        callbackRuns: @escaping (Bool) -> Void = { _ in },
        isFirst: Bool = false, _ completion: @escaping HandshakeWatch.Completion
    ) {
        channel.eventLoop.assertInEventLoop()
        let settings = security.settings
        if let fault = settings.fault(with: host) { return completion(.failure(fault)) }
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        let wanted = settings.serverName.flatMap { $0.isEmpty ? nil : $0 } ?? host
        let isAddress = (try? SocketAddress(ipAddress: wanted, port: 1)) != nil
        let watch = HandshakeWatch(host: host, settings, isUpgrade: isFirst, completion)
        let subject = ServerSubject(host: host, name: wanted, security: security, port: port, addresses: addresses)
        let loop = channel.eventLoop
        let bound = NIOLoopBound(callbackRuns, eventLoop: loop)
        let callbackRuns: @Sendable (Bool) -> Void = { bound.value($0) }
        let evaluator = evaluator
        do {
            // a context of its own, since a callback of a context does not tell which connection asks; it costs 0.01 ms
            let handler = try NIOSSLClientHandler(
                context: NIOSSLContext(configuration: configuration(settings, alpn, watch, client, loop, callbackRuns)),
                serverHostname: isAddress || settings.serverName == "" ? nil : wanted,
                customVerificationCallback: { chain, promise in
                    evaluator.judge(chain, of: subject, for: client, on: loop, callbackRuns: callbackRuns) { verdict in
                        watch.verdict = verdict
                        if case .success = verdict { return promise.succeed(.certificateVerified) }
                        promise.succeed(.failed)
                    }
                })
            watch.tls = handler
            // the watch comes first, since a handshake may fail as soon as its handler is added
            let pipeline = channel.pipeline.syncOperations
            let place: ChannelPipeline.SynchronousOperations.Position = isFirst ? .first : .last
            try pipeline.addHandler(watch, position: place)
            let before: ChannelPipeline.SynchronousOperations.Position = .before(watch)
            try pipeline.addHandlers([HelloWatch(watch), handler], position: before)
            channel.read()
        } catch {
            completion(.failure(FailureBridge.handshake(error, with: host, settings)))
        }
    }

    private func configuration(
        _ settings: TLSSettings, _ alpn: [String], _ watch: HandshakeWatch, _ client: ClientKey, _ loop: any EventLoop,
        _ callbackRuns: @escaping @Sendable (Bool) -> Void
    ) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = settings.minVersion == .v13 ? .tlsv13 : .tlsv12
        configuration.maximumTLSVersion = settings.maxVersion == .v12 ? .tlsv12 : nil
        configuration.applicationProtocols = alpn
        settings.ciphers.apply(to: &configuration)
        if let groups = settings.groups { configuration.curves = groups.map { NIOTLSCurve(rawValue: $0) } }
        configuration.verifySignatureAlgorithms = Self.signatures
        if let keyLog { configuration.keyLogCallback = { keyLog.write($0) } }
        // replaced by the evaluator, which brings its own roots: reading them here would cost milliseconds
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        let identities = identities
        configuration.sslContextCallback = { _, promise in
            // called when the server asks for a certificate, and only then
            guard let identity = settings.identity else {
                watch.clientCertificate = .requested
                return promise.succeed(.noChanges)
            }
            identities.load(identity, for: client, on: loop, callbackRuns: callbackRuns) { result in
                if case .success(let identity) = result {
                    watch.clientCertificate = .sent
                    watch.identityExpires = identity.expires
                }
                promise.completeWith(result.mapError { $0 as any Error }.map(\.change))
            }
        }
        return configuration
    }

    /// Without SHA-1.
    private static let signatures: [SignatureAlgorithm] = [
        .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384, .rsaPssRsaeSha384,
        .rsaPkcs1Sha384, .ecdsaSecp521R1Sha512, .rsaPssRsaeSha512, .rsaPkcs1Sha512, .ed25519,
    ]
}

extension TLSSettings {
    /// The versions of a request and those of its session may exclude each other.
    fileprivate func fault(with host: String) -> HTTPFailure? {
        guard minVersion == .v13, maxVersion == .v12 else { return nil }
        return HTTPFailure(
            .tlsHandshakeFailed,
            "no version of TLS is left for \(host): tls.minVersion is 1.3, tls.maxVersion 1.2 (one of them is the "
                + "session's: give both in the request)", phase: .tls)
    }
}

extension TLSSettings.Ciphers? {
    fileprivate func apply(to configuration: inout TLSConfiguration) {
        switch self {
        case .compatible?: break
        case nil, .modern?:
            configuration.cipherSuiteValues = [
                .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
                .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
                .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            ]
        case .list(let numbers)?: configuration.cipherSuiteValues = numbers.map { NIOTLSCipher(rawValue: $0) }
        }
    }
}
