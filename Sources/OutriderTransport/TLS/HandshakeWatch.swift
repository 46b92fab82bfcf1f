// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import NIOTLS
import OutriderHTTP

/// Waits for the end of a TLS handshake, then goes away.
// proof: confined to the event loop of its channel; other threads only carry the reference.
final class HandshakeWatch: ChannelInboundHandler, RemovableChannelHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    /// What the evaluator has against the certificate.
    var verdict: HTTPFailure?
    weak var tls: NIOSSLClientHandler?
    private let host: String
    private var completion: ((Result<DuplexSecurity, HTTPFailure>) -> Void)?

    init(host: String, _ completion: @escaping (Result<DuplexSecurity, HTTPFailure>) -> Void) {
        self.host = host
        self.completion = completion
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let negotiated) = event else {
            return context.fireUserInboundEventTriggered(event)
        }
        let version = tls?.tlsVersion.map(Self.name)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        finish(.success(DuplexSecurity(version: version, negotiated: negotiated)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(verdict ?? FailureBridge.handshake(error, with: host)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(verdict ?? FailureBridge.handshake(nil, with: host)))
        context.fireChannelInactive()
    }

    private func finish(_ result: Result<DuplexSecurity, HTTPFailure>) {
        let completion = completion
        self.completion = nil
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
