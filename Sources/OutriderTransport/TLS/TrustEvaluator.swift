// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOSSL
import OutriderHTTP
import SwiftASN1
import Synchronization
import X509

/// Decides whether the certificates of a server are to be believed, and says why not: its chain to a trusted root, its
/// validity, its usage and its names (RFC 5280, RFC 9525).
final class TrustEvaluator: Sendable {
    /// Who must be on the other side, and whose word counts.
    struct Subject: Hashable, Sendable {
        var host: String
        var isAddress: Bool
        var trust: Trust
    }

    /// How long the same certificates are believed for the same subject without another look.
    static let memorySeconds: Int64 = 300
    private static let mostMemories = 512
    /// Servers send two to four; looking for a path through very many could take very long.
    private static let longestChain = 16

    private struct Case: Hashable {
        var subject: Subject
        var stamp: TrustRoots.Stamp?
        var chain: [[UInt8]]
    }

    private let roots: TrustRoots
    private let believed = Mutex<[Case: NIODeadline]>([:])

    init(roots: TrustRoots = TrustRoots()) { self.roots = roots }

    /// Which state of its roots a trust means now.
    func stamp(of trust: Trust) -> TrustRoots.Stamp? { roots.stamp(of: trust) }

    /// Gives its verdict on the loop: nil, or what speaks against it. At once for a chain that it has seen lately;
    /// otherwise after some hundreds of microseconds on another thread, or milliseconds when roots have to be read.
    func judge(
        _ chain: [NIOSSLCertificate], of subject: Subject, for client: ClientKey, on loop: any EventLoop,
        _ verdict: @escaping @Sendable (HTTPFailure?) -> Void
    ) {
        guard let bytes = try? chain.map({ try $0.toDERBytes() }), !bytes.isEmpty, bytes.count <= Self.longestChain
        else {
            let text = "\(subject.host) sent no certificate that can be read, or more than \(Self.longestChain)"
            return verdict(HTTPFailure(.trustEvaluationFailed, text, phase: .tls))
        }
        if subject.trust == .system, isBelieved(Case(subject: subject, stamp: nil, chain: bytes)) {
            return verdict(nil)
        }
        // looking at files may block
        let isTaken = BlockingThreads.files.run(for: client) {
            let known = Case(subject: subject, stamp: self.roots.stamp(of: subject.trust), chain: bytes)
            if self.isBelieved(known) { return loop.execute { verdict(nil) } }
            let store = Result { () throws(HTTPFailure) in try self.roots.store(for: subject.trust) }
            // not structured: what started the handshake may be gone before this ends, and then no caller listens
            Task {
                let failure = await self.evaluate(bytes, of: subject, by: store)
                if failure == nil { self.remember(known) }
                loop.execute { verdict(failure) }
            }
        }
        if !isTaken {
            let text = "the trusted certificates cannot be read: too much work on files waits for this client"
            verdict(HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls, retryable: true))
        }
    }

    private func isBelieved(_ known: Case) -> Bool {
        believed.withLock { $0[known] }.map { $0 > .now() } ?? false
    }

    private func remember(_ known: Case) {
        let now = NIODeadline.now()
        believed.withLock { believed in
            if believed.count >= Self.mostMemories { believed = believed.filter { $0.value > now } }
            if believed.count >= Self.mostMemories { believed = [:] }
            believed[known] = now + .seconds(Self.memorySeconds)
        }
    }

    private func evaluate(
        _ chain: [[UInt8]], of subject: Subject, by roots: Result<CertificateStore, HTTPFailure>
    ) async -> HTTPFailure? {
        let certificates: [Certificate]
        let store: CertificateStore
        do throws(HTTPFailure) {
            store = try roots.get()
            certificates = try Self.parse(chain, of: subject)
        } catch {
            return error
        }
        let leaf = certificates[0]
        let others = CertificateStore(certificates.dropFirst())
        var verifier = Verifier(rootCertificates: store) {
            RFC5280Policy()
            ServerUsagePolicy()
            ServerIdentityPolicy(
                serverHostname: subject.isAddress ? nil : subject.host, serverIP: subject.isAddress ? subject.host : nil
            )
        }
        guard case .couldNotValidate(let failures) = await verifier.validate(leaf: leaf, intermediates: others) else {
            return nil
        }
        var nameless = Verifier(rootCertificates: store) {
            RFC5280Policy()
            ServerUsagePolicy()
            AnyNamePolicy()
        }
        let isOnlyTheName =
            if case .validCertificate = await nameless.validate(leaf: leaf, intermediates: others) { true } else {
                false
            }
        let objection = CertificateObjection(
            certificates, host: subject.host, isOnlyTheName: isOnlyTheName,
            reasons: failures.map { String(describing: $0.policyFailureReason) })
        return objection.failure
    }

    private static func parse(_ chain: [[UInt8]], of subject: Subject) throws(HTTPFailure) -> [Certificate] {
        do {
            return try chain.map { try Certificate(derEncoded: $0) }
        } catch {
            let text = "the certificate of \(subject.host) cannot be read"
            throw HTTPFailure(
                .trustEvaluationFailed, text, phase: .tls,
                underlying: .init(.tls, 0, String(String(describing: error).prefix(200))))
        }
    }
}
