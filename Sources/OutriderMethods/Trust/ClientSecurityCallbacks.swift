// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// The reply to `callback.trust`: whether the server is trusted.
struct TrustDecision: JSONDecodable {
    var reply: TrustReply

    /// Seconds.
    private static let memories = 0.0...2_592_000

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let trust: Bool? = try fields.optional("trust")
        let reason: String? = try fields.optional("reason")
        let remember = try fields.number("remember", in: Self.memories)
        try fields.finish()
        reply = TrustReply(
            isTrusted: try JSONFields.need("trust", trust), reason: reason.map { String($0.prefix(500)) },
            remembered: remember ?? 0)
    }
}

/// Runs the callbacks of a client about servers and keys: once for all connections that wait for the same reply.
final class ClientSecurityCallbacks: SecurityCallbacks {
    private struct Key: Hashable {
        var callback: String
        var host: String
        var port: Int
        var reason: String?
        /// SHA-256 of the certificates.
        var chain: [String]
    }

    private struct State {
        var waiting: [Key: [CheckedContinuation<TrustReply, Never>]] = [:]
        var remembered: [Key: (reply: TrustReply, until: ContinuousClock.Instant)] = [:]
    }

    private static let mostRemembered = 1000

    let mark = "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))"
    private let runner: CallbackRunner
    /// Whether the client may use the credentials of the service's user.
    private let isOwner: Bool
    private let state = Mutex(State())

    init(_ call: Call<ClientScope>) {
        runner = CallbackRunner(call)
        isOwner = !call.peer.info.isOtherUser
    }

    func decide(_ callback: TrustCallback, _ spec: CallbackSpec) async -> TrustReply {
        let key = Key(
            callback: spec.name, host: callback.host, port: callback.port, reason: callback.reason,
            chain: callback.chain.map(\.sha256))
        let known = state.withLock { $0.remembered[key] }
        if let known, known.until > .now { return known.reply }
        return await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                state.waiting[key, default: []].append(continuation)
                return state.waiting[key]?.count == 1
            }
            guard isFirst else { return }
            // not structured: the waiting connection may end before the client replies
            Task { self.settle(key, await self.reply(callback, spec)) }
        }
    }

    private func reply(_ callback: TrustCallback, _ spec: CallbackSpec) async -> TrustReply {
        let names = CallbackSubject(callback: spec.name, request: nil, attempt: 0)
        do throws(RPCError) {
            let decision: TrustDecision = try await runner.run(
                .trust, spec, names, .trust(callback), events: InboxOutlet())
            return decision.reply
        } catch {
            return TrustReply(isTrusted: false, reason: error.message)
        }
    }

    private func settle(_ key: Key, _ reply: TrustReply) {
        let waiters = state.withLock { state in
            if reply.remembered > 0 {
                let now = ContinuousClock.now
                if state.remembered.count >= Self.mostRemembered {
                    state.remembered = state.remembered.filter { $0.value.until > now }
                }
                if state.remembered.count < Self.mostRemembered {
                    state.remembered[key] = (reply, now + .seconds(reply.remembered))
                }
            }
            return state.waiting.removeValue(forKey: key) ?? []
        }
        for waiter in waiters { waiter.resume(returning: reply) }
    }

    func passphrase(of file: String, failures: Int, _ spec: CallbackSpec) async -> SecretText? {
        let names = CallbackSubject(callback: spec.name, request: nil, attempt: 0)
        let decision: PassphraseDecision? = try? await runner.run(
            .passphrase, spec, names, .keyPassphrase(file: file, failures: failures), events: InboxOutlet())
        return decision?.passphrase.map { SecretText($0.exposed) }
    }

    func token(of credential: String) async -> SecretText? {
        guard isOwner, runner.decisions.mayUse(credential: credential),
            let found = try? await runner.engine.credentials.find(credential, atOnce: true),
            let token = try? await found.token(for: .broker(minValidity: 0), within: OAuthToken.timeout)
        else { return nil }
        return SecretText(token.0.token.exposed)
    }
}

extension ClientScope {
    /// The caller of this client's callbacks about servers and keys.
    func securityCallbacks(_ call: Call<ClientScope>) -> any SecurityCallbacks {
        securityCallbacks { ClientSecurityCallbacks(call) }
    }
}
