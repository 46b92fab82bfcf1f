// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The credentials of a stage that lets nothing reach the network: token responses come from the stage, and no helper is
/// started. The vault holds no refresh token and no client secret, only whether a credential has one.
final class PlayedVault: CredentialVault, PlayedResponses {
    private let known: CredentialBroker
    private let endpoint: PlayedEndpoint
    private let stores = Mutex<[ByteText: PlayedStore]>([:])
    /// Requests are played one after the other, as the lock of a credential has it.
    private let queue = SerialQueue()

    /// - Parameter known: the credentials of the service, which are copied on first use.
    init(_ endpoint: PlayedEndpoint, beside known: CredentialBroker) {
        self.endpoint = endpoint
        self.known = known
    }

    // MARK: records

    /// Nil for a name that this service has not used: the store is not read.
    private func find(_ name: String) -> PlayedStore? {
        if let store = stores.withLock({ $0[ByteText(name)] }) { return store }
        guard let snapshot = known.known(name), endpoint.plays(snapshot.spec.endpoints.token) else { return nil }
        return keep(CredentialRecord(played: snapshot, boot: Clocks.boot))
    }

    private func find(_ id: CredentialID) throws(OAuthFailure) -> PlayedStore {
        guard let store = find(id.name) else { throw .unknownCredential(id.name) }
        if let birth = id.birth, birth != store.record?.birth { throw .replaced(id.name) }
        return store
    }

    private func keep(_ record: CredentialRecord) -> PlayedStore {
        let made = PlayedStore(record)
        return stores.withLock { stores in
            if let other = stores[ByteText(record.spec.name)] { return other }
            stores[ByteText(record.spec.name)] = made
            return made
        }
    }

    private func snapshot(_ store: PlayedStore, _ name: String) throws(OAuthFailure) -> CredentialSnapshot {
        guard let record = store.record else { throw .unknownCredential(name) }
        return record.snapshot(at: Clocks.now, boot: Clocks.boot)
    }

    func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let before = find(spec.name)?.record
        if let before, !before.maySuit(spec, secrets, access) { throw .otherIdentity(spec.name) }
        var record =
            before ?? CredentialRecord(spec, CredentialSecrets(), access: nil, generation: 0, boot: Clocks.boot)
        if before?.spec.endpoints.token != spec.endpoints.token { record.birth = .random(in: 1...UInt64.max) }
        record.spec = spec
        record.take(secrets.masked, access, boot: Clocks.boot)
        let store = keep(record)
        store.replace(record)
        return try snapshot(store, spec.name)
    }

    func change(
        _ id: CredentialID, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let store = try find(id)
        guard var record = store.record else { throw .unknownCredential(id.name) }
        record.spec.take(settings, of: spec)
        record.take(secrets.masked, access, boot: Clocks.boot)
        store.replace(record)
        return try snapshot(store, id.name)
    }

    func mark(of name: String) -> RecordMark? { nil }

    var played: (any PlayedResponses)? { self }

    func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot? {
        guard let store = find(name) else { return nil }
        return try snapshot(store, name)
    }

    func list() async throws(OAuthFailure) -> [CredentialSnapshot] {
        var found: [CredentialSnapshot] = []
        let used = known.known.map { ByteText($0.spec.name) }
        let names = Set(used).union(stores.withLock { Array($0.keys) })
        for name in names.map(\.text).sorted() {
            if let store = find(name) { found.append(try snapshot(store, name)) }
        }
        return found
    }

    // MARK: requests

    /// Whether the stage has a response for a request of the credential.
    func has(_ request: TokenRequest, for name: String) -> Bool {
        guard let record = find(name)?.record,
            let form = try? OAuthForm(request.masked, record.spec, record.secrets, proof: .masked)
        else { return false }
        return endpoint.has(form, record.spec.endpoints.token)
    }

    func obtain(
        _ request: TokenRequest, for id: CredentialID, newerThan generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let (store, endpoint) = (try find(id), endpoint)
        return try await queue.take { () async throws(OAuthFailure) in
            let runner = RotationRunner(files: store, post: endpoint, proofs: ProofSource(isMasked: true))
            switch try await runner.run(.obtain(request.masked, newerThan: generation)) {
            case .tokens: return try snapshot(store, id.name)
            case .failed(let failure): throw failure
            case .mended: throw .unknownCredential(id.name)
            }
        }
    }

    private var calls: EndpointCalls { EndpointCalls(post: endpoint, proofs: ProofSource(isMasked: true)) }

    func authorizeDevice(
        _ id: CredentialID, scope: [String]?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> [UInt8] {
        guard let record = try find(id).record else { throw .unknownCredential(id.name) }
        return try await calls.authorizeDevice(record, scope)
    }

    func introspect(_ id: CredentialID, recorder: (any TokenRecorder)?) async throws(OAuthFailure) -> [UInt8] {
        guard let record = try find(id).record else { throw .unknownCredential(id.name) }
        return try await calls.introspect(record)
    }

    func erase(
        _ id: CredentialID, spec forgets: Bool, revoke: Bool, upTo generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> OAuthFailure? {
        guard let store = find(id.name), var record = store.record else { return nil }
        if let generation, record.generation > generation { return nil }
        var failure: OAuthFailure?
        if revoke {
            do throws(OAuthFailure) { try await calls.revoke(record) } catch { failure = error }
        }
        record.forgetTokens()
        store.replace(record)
        if forgets { stores.withLock { $0[ByteText(id.name)] = nil } }
        return failure
    }
}

extension CredentialRecord {
    /// A copy without secrets of a credential that the service knows.
    fileprivate init(played snapshot: CredentialSnapshot, boot: String) {
        let mask = Secret(SecretFields.mask)
        let isSecret = [.basic, .body].contains(snapshot.spec.authentication)
        let secrets = CredentialSecrets(
            clientSecret: isSecret ? mask : nil, refreshToken: snapshot.hasRefreshToken ? mask : nil,
            assertion: snapshot.spec.grant == .jwtBearer ? mask : nil)
        self.init(snapshot.spec, secrets, access: snapshot.access, generation: snapshot.generation, boot: boot)
        (birth, login, lastRefresh) = (snapshot.birth, snapshot.login, snapshot.lastRefresh)
        if case .needsLogin(let failure) = snapshot.state { self.failure = failure }
    }
}

extension TokenRequest {
    /// The request as it is recorded. An ID token that is masked has no signature to be checked.
    fileprivate var masked: TokenRequest {
        let mask = Secret(SecretFields.mask)
        switch self {
        case .refresh, .clientCredentials, .jwtBearer: return self
        case .authorizationCode(_, _, let redirect, _, _, let scope):
            return .authorizationCode(
                code: mask, verifier: mask, redirect: redirect, nonce: nil, keys: nil, scope: scope)
        case .deviceCode(_, let scope): return .deviceCode(mask, scope: scope)
        }
    }
}
