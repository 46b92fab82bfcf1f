// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import FoundationEssentials
import NIOCore
import NIOSSL
import OutriderHTTP
import SwiftASN1
import Synchronization
import X509

/// Decides whether the certificates of a server are to be believed by the policy for its host, and says why not
/// (RFC 5280, RFC 9525).
final class TrustEvaluator: Sendable {
    /// How long the same certificates are believed for the same subject without another look.
    static let memorySeconds: Int64 = 300
    private static let mostMemories = 512
    /// Servers send two to four; looking for a path through very many could take very long.
    static let longestChain = 16
    static let mostChainBytes = 100 << 10

    private struct Case: Hashable {
        var subject: ServerSubject
        var stamps: FileStamps
        var chain: [[UInt8]]
    }

    private let roots: TrustRoots
    let fetcher = RevocationFetcher()
    private let believed = Mutex<[Case: (verdict: TrustVerdict, until: NIODeadline)]>([:])

    init(roots: TrustRoots = TrustRoots()) { self.roots = roots }

    /// The states of all files that a security rests on. Blocks.
    func stamps(of security: ConnectionSecurity) -> (roots: FileStamps, others: FileStamps) {
        var found = roots.stamps(of: security.roots)
        if security.proxySettings.roots != security.settings.roots {
            found = found.joined(roots.stamps(of: security.proxySettings.roots ?? .system))
        }
        return (found, FileStamps(security.policy.files + security.proxyPolicy.files))
    }

    /// Gives its verdict on the loop: at once for a policy that accepts everything; otherwise after some hundreds of
    /// microseconds on another thread, or milliseconds when files have to be read.
    ///
    /// - Parameter callbackRuns: told on the loop when a callback to a client begins, and when it ends.
    func judge(
        _ chain: [NIOSSLCertificate], of subject: ServerSubject, for client: ClientKey, on loop: any EventLoop,
        callbackRuns: @escaping @Sendable (Bool) -> Void = { _ in },
        _ verdict: @escaping @Sendable (Result<TrustVerdict, HTTPFailure>) -> Void
    ) {
        let bytes = (try? chain.map { try $0.toDERBytes() }) ?? []
        let size = bytes.reduce(0) { $0 &+ $1.count }
        if subject.security.policy.isNone {
            // an issuer must not stand in the place of a server's certificate that cannot be read
            let isReadable =
                size <= Self.mostChainBytes && bytes.first.map { (try? Certificate(derEncoded: $0)) != nil } == true
            let path = isReadable ? bytes.compactMap { try? Certificate(derEncoded: $0) } : []
            return verdict(.success(TrustVerdict(verified: .none, path: path)))
        }
        guard !bytes.isEmpty, bytes.count <= Self.longestChain, size <= Self.mostChainBytes else {
            return verdict(.failure(.unusable(bytes.count, size, of: subject.host)))
        }
        // looking at files may block
        let isTaken = BlockingThreads.files.run(for: client) {
            let stamps = self.stamps(of: subject.security)
            let known = Case(subject: subject, stamps: stamps.roots.joined(stamps.others), chain: bytes)
            if let verdict = self.remembered(known) { return loop.execute { deliver(.success(verdict)) } }
            let store = Result { () throws(HTTPFailure) in try self.roots.store(for: subject.security.roots) }
            let files = PolicyFiles(subject.security.policy)
            // not structured: what started the handshake may be gone before this ends, and then no caller listens
            Task {
                let context = PolicyRun.Context(fetcher: self.fetcher, client: client) { isCallbackRunning in
                    loop.execute { callbackRuns(isCallbackRunning) }
                }
                let result = await Self.evaluate(bytes, subject, store, files, context)
                // what a client says counts as long as the client says
                if case .success(let verdict) = result, !subject.security.policy.callsClient {
                    self.remember(verdict, for: known)
                }
                loop.execute { deliver(result) }
            }
        }
        @Sendable func deliver(_ result: Result<TrustVerdict, HTTPFailure>) { verdict(result) }
        if !isTaken {
            let text = "the trusted certificates cannot be read: too much work on files waits for this client"
            verdict(.failure(HTTPFailure(.settingAnchorCertificatesFailed, text, phase: .tls, retryable: true)))
        }
    }

    private func remembered(_ known: Case) -> TrustVerdict? {
        believed.withLock { $0[known] }.flatMap { $0.until > .now() ? $0.verdict : nil }
    }

    private func remember(_ verdict: TrustVerdict, for known: Case) {
        let now = NIODeadline.now()
        // no certificate of the path counts beyond its end
        let end = verdict.path.map(\.notValidAfter).min()?.timeIntervalSinceNow ?? 0
        let until = now + .seconds(min(end, Double(Self.memorySeconds)))
        guard until > now else { return }
        believed.withLock { believed in
            if believed.count >= Self.mostMemories { believed = believed.filter { $0.value.until > now } }
            if believed.count >= Self.mostMemories { believed = [:] }
            believed[known] = (verdict, until)
        }
    }

    private static func evaluate(
        _ chain: [[UInt8]], _ subject: ServerSubject, _ store: Result<TrustRoots.Store, HTTPFailure>,
        _ files: PolicyFiles, _ context: PolicyRun.Context
    ) async -> Result<TrustVerdict, HTTPFailure> {
        do throws(HTTPFailure) {
            let served = try ServedChain(chain, subject)
            return .success(try await PolicyRun(served, roots: store, files, context).verdict(subject.security.policy))
        } catch {
            return .failure(error)
        }
    }
}

extension HTTPFailure {
    fileprivate static func unusable(_ count: Int, _ size: Int, of host: String) -> HTTPFailure {
        let text =
            count == 0
            ? "\(host) sent no certificate that can be read"
            : "\(host) sent \(count) certificates of \(size) bytes (at most \(TrustEvaluator.longestChain) "
                + "and \(TrustEvaluator.mostChainBytes) bytes are looked at)"
        return HTTPFailure(.trustEvaluationFailed, text, phase: .tls)
    }
}

extension TrustPolicy {
    /// The files that the policy reads.
    var files: [String] {
        switch self {
        case .pinnedCertificates(let pins): pins.files
        case .revocation(let revocation): revocation.crlFiles
        case .all(let policies): policies.flatMap(\.files)
        case .default, .none, .publicKeys, .callback: []
        }
    }
}
