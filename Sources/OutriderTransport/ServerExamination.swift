// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
package import OutriderHTTP

extension HTTPTransport {
    /// Performs a TLS handshake with the server of an attempt, ends the connection, and judges the certificates by the
    /// policy of the attempt. At most `timeouts.connect` and `timeouts.tls` together. Proxies are not used.
    ///
    /// - Parameter chain: DER certificates to judge instead of the server's; then nothing is sent.
    package func examine(_ attempt: Attempt, chain: [[UInt8]]? = nil) async -> TLSExamination {
        var examination = TLSExamination()
        do throws(HTTPFailure) {
            let security = try attempt.security.security(for: attempt.url)
            if let fault = security.policy.fault { throw fault }
            examination.served = chain ?? []
            if chain == nil {
                let facts = try await shakeHands(attempt, security).get()
                examination.facts = facts
                examination.served = facts.chain
            }
            let verdict = try await judged(examination.served, attempt, security).get()
            examination.verified = verdict.verified
            examination.revocation = verdict.revocation
            examination.path = verdict.path.map(\.der)
        } catch {
            examination.failure = error
        }
        return examination
    }

    private func shakeHands(
        _ attempt: Attempt, _ security: ConnectionSecurity
    ) async -> Result<TLSFacts, HTTPFailure> {
        let (loop, wiring) = (loop, wiring)
        return await withUnsafeContinuation { continuation in
            loop.execute {
                ServerExamination(attempt, security, on: loop, wiring).start { continuation.resume(returning: $0) }
            }
        }
    }

    private func judged(
        _ served: [[UInt8]], _ attempt: Attempt, _ security: ConnectionSecurity
    ) async -> Result<TrustVerdict, HTTPFailure> {
        let url = attempt.url
        let name = security.settings.serverName.flatMap { $0.isEmpty ? nil : $0 } ?? url.hostName
        let subject = ServerSubject(
            host: url.hostName, name: name, security: security, port: url.port, addresses: attempt.addresses)
        let chain = served.compactMap { try? NIOSSLCertificate(bytes: $0, format: .der) }
        let (loop, evaluator) = (loop, wiring.tls.evaluator)
        return await withUnsafeContinuation { continuation in
            loop.execute {
                evaluator.judge(chain, of: subject, for: attempt.client, on: loop) {
                    continuation.resume(returning: $0)
                }
            }
        }
    }
}

/// A connection up to the end of its handshake, accepting every certificate.
// proof: confined to its event loop; other threads only carry the reference.
private final class ServerExamination: @unchecked Sendable {
    private let url: HTTPURL
    private let place: HTTPURL
    private let attempt: Attempt
    private let security: ConnectionSecurity
    private let loop: any EventLoop
    private let wiring: Wiring
    private let lookup = LookupInterest()
    private var connector: Connector?
    private var channel: (any Channel)?
    private var deadline: Scheduled<Void>?
    private var completion: ((Result<TLSFacts, HTTPFailure>) -> Void)?

    init(_ attempt: Attempt, _ security: ConnectionSecurity, on loop: any EventLoop, _ wiring: Wiring) {
        url = attempt.url
        place = attempt.security.target(for: attempt.url)?.applied(to: attempt.url) ?? attempt.url
        self.attempt = attempt
        self.security = ConnectionSecurity(.none, security.settings)
        self.loop = loop
        self.wiring = wiring
    }

    func start(_ completion: @escaping (Result<TLSFacts, HTTPFailure>) -> Void) {
        self.completion = completion
        let seconds = attempt.timeouts.connect + attempt.timeouts.tls
        deadline = loop.assumeIsolated().scheduleTask(in: .seconds(seconds)) {
            let text = "\(self.url.host): the TLS handshake took too long"
            self.end(.failure(HTTPFailure(.timedOut, text, phase: .tls)))
        }
        guard attempt.addresses.permits(hostOf: place) else {
            return end(.failure(attempt.addresses.refusal(of: place, [])))
        }
        do throws(HTTPFailure) {
            if let addresses = try place.knownAddresses() { return connect(to: addresses) }
        } catch {
            return end(.failure(error))
        }
        wiring.resolver.addresses(of: place.host, port: place.port, for: attempt.client, lookup, on: loop)
            .hop(to: loop).assumeIsolated().whenComplete { result in
                switch result {
                case .success(let addresses): self.connect(to: addresses)
                case .failure(let error):
                    let text = "the host name \(self.place.host) could not be looked up"
                    let failure = error as? HTTPFailure ?? HTTPFailure(.nameNotFound, text, phase: .resolve)
                    self.end(.failure(failure))
                }
            }
    }

    private func connect(to addresses: [SocketAddress]) {
        guard completion != nil else { return }
        let policy = attempt.addresses
        let permitted = addresses.filter {
            $0.networkBytes.map { policy.permits(address: $0) } ?? (policy != .publicOnly)
        }
        guard !permitted.isEmpty else {
            return end(.failure(policy.refusal(of: place, addresses.compactMap(\.ipAddress))))
        }
        let connector = Connector(to: permitted, on: loop)
        self.connector = connector
        connector.start { result in
            self.connector = nil
            switch result {
            case .failure(let failure): self.end(.failure(failure))
            case .success(let channel):
                self.channel = channel
                self.wiring.tls.handshake(
                    on: channel, host: self.url.hostName, port: self.url.port, security: self.security,
                    alpn: ["h2", "http/1.1"],
                    for: self.attempt.client
                ) { self.end($0) }
            }
        }
    }

    private func end(_ result: Result<TLSFacts, HTTPFailure>) {
        guard let completion else { return }
        self.completion = nil
        deadline?.cancel()
        lookup.end()
        connector?.cancel()
        channel?.close(promise: nil)
        completion(result)
    }
}
