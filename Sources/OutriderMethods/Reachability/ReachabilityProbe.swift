// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import Synchronization

/// A connection that was opened and closed.
struct ReachabilityProbe: ObjectShape, Sendable {
    var seconds: Double
    var remote: String?
    var failure: HTTPFailure?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("ok", failure == nil)
        writer.member("seconds", seconds)
        writer.member("remote", remote)
        if let failure { writer.member("error", FailureShape(failure)) }
    }

    /// Connects directly, with 5 seconds for each phase.
    static func run(_ endpoint: HTTPURL, _ engine: Engine, _ quota: BodyQuota) async -> ReachabilityProbe {
        var spec = RequestSpec(url: endpoint.description)
        spec.method = "CONNECT"
        spec.destination = .discard
        (spec.timeouts.resolve, spec.timeouts.connect) = (5, 5)
        let owner = ProbeOwner()
        spec.duplex = Duplex(endpoint, tls: DuplexTLS(), feed: UploadStream(), owner: owner)
        let began = ContinuousClock.now
        let exchange = await engine.exchange(spec, ExchangeSetup(quota: quota, keepsBody: false))
        exchange.start()
        _ = await exchange.reached(.response)
        let seconds = (ContinuousClock.now - began).seconds
        let failure = exchange.outcome?.failure
        exchange.cancel()
        return ReachabilityProbe(seconds: seconds, remote: owner.remote, failure: failure)
    }
}

/// Hears where a probe led.
private final class ProbeOwner: DuplexOwner {
    private let address = Mutex<String?>(nil)

    var remote: String? { address.withLock { $0 } }

    func opened(_ control: any DuplexControl, _ timeline: Timeline, _ security: DuplexSecurity?) {
        address.withLock { $0 = timeline.remote }
    }

    func readEnded() {}
    func writeEnded() {}
}
