// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension PoolKey {
    /// The key of an attempt, and the failure if no connection may be opened for the attempt: 1500, 1501 or 1502.
    ///
    /// - Parameters:
    ///   - version: nil for the attempt's own version.
    ///   - recent: the key to return if that is the key of the attempt.
    static func of(
        _ attempt: Attempt, version: HTTPVersionChoice? = nil, recent: PoolKey? = nil
    ) -> (PoolKey, HTTPFailure?) {
        let route = attempt.route
        let plan = attempt.security
        let url = attempt.url
        let target = plan.isPlain ? nil : plan.target(for: url)
        // made once, with all its properties: a key that is changed is hashed again
        func key(_ security: ConnectionSecurity) -> PoolKey {
            let (addresses, version) = (attempt.addresses, version ?? attempt.httpVersion)
            if let recent, route == nil, target == nil, recent.isDirect(url, security, addresses, version) {
                return recent
            }
            return PoolKey(
                url, security: security, proxy: route, addresses: addresses, connectTo: target, version: version)
        }
        if plan.isPlain, route?.server.kind != .https { return (key(.standard), nil) }
        do throws(HTTPFailure) {
            let security = try plan.security(for: url, proxy: route?.server)
            return (key(security), plan.isPlain ? nil : security.policy.fault)
        } catch {
            return (key(.standard), error)
        }
    }
}

extension ConnectionPool {
    /// The same. Most attempts go where the last one went, and share its key.
    func key(of attempt: Attempt) -> (PoolKey, HTTPFailure?) {
        let (key, failure) = PoolKey.of(attempt, recent: recentKey)
        if recentKey?.isSame(as: key) != true, key.mayOutliveSession { recentKey = key }
        return (key, failure)
    }
}

extension PoolKey {
    /// Whether the key holds neither secrets nor callbacks of a client.
    fileprivate var mayOutliveSession: Bool {
        proxy == nil && security.settings.identity == nil && security.policy == .default
    }
}

extension AttemptRunner {
    func breakage(_ end: ConnectionEnd, _ error: (any Error)?) -> HTTPFailure {
        ConnectionError(end, error, host: peer, phase: clock.phase, body: body.progress).failure
    }

    /// The other end of the connection: a proxy that forwards requests, else the server, behind its tunnel if any.
    private var peer: String {
        guard let proxy = key.proxy, !proxy.isTunnel else { return attempt.url.host }
        return "the proxy \(proxy.server.name)"
    }

    /// A server that requires a client certificate may end the connection only after the handshake (RFC 8446 section
    /// 4.4.2.4). Nil if the connection ended for another reason.
    func certificateFault(_ error: (any Error)?) -> HTTPFailure? {
        let timeline = clock.timeline
        if let error, let failure = FailureBridge.renegotiation(error, with: attempt.url.host) { return failure }
        guard stage == .sending, !timeline.reused, let requested = timeline.tlsFacts?.clientCertificate else {
            return nil
        }
        return FailureBridge.clientCertificate(requested, error, with: attempt.url.host)
    }
}
