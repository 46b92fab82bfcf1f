// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOEmbedded
import NIOTLS
import OutriderHTTP
import Testing

@testable import OutriderTransport

/// How the end of a handshake is told.
struct HandshakeWatchTests {
    private func result(_ verdict: Result<TrustVerdict, HTTPFailure>?) throws -> Result<TLSFacts, HTTPFailure>? {
        var found: Result<TLSFacts, HTTPFailure>?
        let watch = HandshakeWatch(host: "a.test", .standard) { found = $0 }
        watch.verdict = verdict
        let channel = EmbeddedChannel(handler: watch)
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        _ = try channel.finish()
        return found
    }

    @Test func `a handshake without a verdict is a failure`() throws {
        guard case .failure(let failure) = try result(nil) else {
            Issue.record("believed")
            return
        }
        #expect(failure.kind == .trustEvaluationFailed && failure.message.contains("a.test"))
    }

    @Test func `a verdict is told`() throws {
        #expect(try result(.success(TrustVerdict(verified: .pins)))?.get().verified == .pins)
        let refusal = HTTPFailure(.hostValidationFailed, "no", phase: .tls)
        guard case .failure(let failure) = try result(.failure(refusal)) else {
            Issue.record("believed")
            return
        }
        #expect(failure.kind == .hostValidationFailed)
    }
}
