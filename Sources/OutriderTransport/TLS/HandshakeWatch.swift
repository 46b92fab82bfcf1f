// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import NIOCore
import NIOSSL
import NIOTLS
import OutriderHTTP

/// Waits for the end of a TLS handshake, then goes away.
// proof: confined to the event loop of its channel; other threads only carry the reference.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias Completion = (Result<TLSFacts, HTTPFailure>) -> Void

    /// What the evaluator says of the certificates.
    var verdict: Result<TrustVerdict, HTTPFailure>?
    var clientCertificate: TLSFacts.ClientCertificate?
    /// The end of our own certificate, in seconds since 1970.
    var identityExpires: Double?
    /// What the server chose, as far as it can be read.
    var hello: ServerHello?
    /// What it speaks in place of TLS.
    var plain: PlainPeer?
    weak var tls: NIOSSLClientHandler?
    private let host: String
    private let settings: TLSSettings
    /// Whether a plain stream is upgraded.
    private let isUpgrade: Bool
    private var completion: Completion?

    init(host: String, _ settings: TLSSettings, isUpgrade: Bool = false, _ completion: @escaping Completion) {
        (self.host, self.settings, self.isUpgrade) = (host, settings, isUpgrade)
        self.completion = completion
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let alpn) = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        switch verdict {
        case .success(let verdict)?: finish(.success(facts(alpn, verdict)))
        case .failure(let failure)?: finish(.failure(failure))
        case nil:
            let text = "the handshake with \(host) ended before its certificates were verified"
            finish(.failure(HTTPFailure(.trustEvaluationFailed, text, phase: .tls)))
        }
    }

    private func facts(_ alpn: String?, _ verdict: TrustVerdict) -> TLSFacts {
        TLSFacts(
            version: tls?.tlsVersion.map(Self.name) ?? "TLS", cipher: hello?.cipherName, group: hello?.groupName,
            alpn: alpn.flatMap { $0.isEmpty ? nil : $0 }, verified: verdict.verified,
            revocation: verdict.revocation, clientCertificate: clientCertificate, chain: verdict.path.map(\.der),
            expires: expires(verdict))
    }

    /// When the first of the two certificates ends; ours counts only while it has not ended, since the server took it.
    private func expires(_ verdict: TrustVerdict) -> Double? {
        let own = identityExpires.flatMap { $0 > Date.now.timeIntervalSince1970 ? $0 : nil }
        return [verdict.expires, own].compactMap(\.self).min()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.failure(failure(error))) }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(failure(nil)))
        context.fireChannelInactive()
    }

    private func failure(_ error: (any Error)?) -> HTTPFailure {
        if case .failure(let failure)? = verdict { return failure }
        if let failure = error as? HTTPFailure { return failure }
        if let clientCertificate, verdict != nil,
            let failure = FailureBridge.clientCertificate(clientCertificate, error, with: host)
        {
            return failure
        }
        if let plain { return plain.failure(with: host, isUpgrade: isUpgrade, error.map(FailureBridge.underlying)) }
        return FailureBridge.handshake(error, with: host, settings)
    }

    private func finish(_ result: Result<TLSFacts, HTTPFailure>) {
        let completion = completion
        self.completion = nil
        // the callbacks of the connection's context keep this watch as long as the connection
        verdict = nil
        completion?(result)
    }

    private static func name(_ version: TLSVersion) -> String {
        switch version {
        case .tlsv13: "TLSv1.3"
        case .tlsv12: "TLSv1.2"
        default: "TLS below 1.2"
        }
    }
}
