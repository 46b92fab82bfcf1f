// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The credentials of this service by name: those made or used since its start, and those of the user's store.
package final class CredentialBroker: Sendable {
    /// Limit of the credentials in the service; the user's store may hold more.
    package static let most = 1024

    private struct State {
        var credentials: [ByteText: SharedCredential] = [:]
        var observer: (any CredentialObserver)?
        var vault: (any CredentialVault)?
    }

    private let state = Mutex(State())
    private let clock: @Sendable () -> ClockPair
    private let later: @Sendable (Double, @escaping @Sendable () -> Void) -> ScheduledWork

    init(
        later: @escaping @Sendable (Double, @escaping @Sendable () -> Void) -> ScheduledWork,
        clock: @escaping @Sendable () -> ClockPair = { Clocks.now }
    ) {
        self.later = later
        self.clock = clock
    }

    /// Sets the store of secrets. To be called once.
    package func use(_ vault: any CredentialVault) { state.withLock { $0.vault = vault } }

    /// Sets the observer of all events.
    package func tell(_ observer: any CredentialObserver) { state.withLock { $0.observer = observer } }

    /// The store of secrets; nil for none.
    package var vault: (any CredentialVault)? { state.withLock { $0.vault } }

    /// The credential of that name, from this service or the store; nil for none.
    ///
    /// - Parameter atOnce: check the store now for changes by other processes; else at most every two seconds.
    package func find(_ name: String, atOnce: Bool = false) async throws(OAuthFailure) -> SharedCredential? {
        let (known, vault) = state.withLock { ($0.credentials[ByteText(name)], $0.vault) }
        if let known {
            if await known.isCurrent(at: clock().boot, atOnce: atOnce) { return known }
            drop(known)
        }
        guard let vault, let found = try await vault.read(name) else { return nil }
        return keep(found, nil)
    }

    /// Makes a credential, or changes a known one: existing tokens stay unless others are given. Throws if the name
    /// belongs to a different credential.
    package func create(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?, refresher: (any TokenRefresher)?
    ) async throws(OAuthFailure) -> SharedCredential {
        let known = try await find(spec.name, atOnce: true)
        if let known, !known.snapshot.spec.isSame(as: spec) {
            throw OAuthFailure(
                .config, "name_taken",
                "there is another credential named \(spec.name): choose another name, or delete that one first")
        }
        let isFull = state.withLock { known == nil && $0.credentials.count >= Self.most }
        if isFull { throw OAuthFailure(.store, "too_many", "there are \(Self.most) credentials: delete some") }
        guard let known else {
            let snapshot = try await stored(spec, secrets, access, before: nil)
            let credential = keep(snapshot, refresher)
            tell(.created, snapshot)
            return credential
        }
        let snapshot = try await known.changes.take { () async throws(OAuthFailure) in
            let snapshot = try await stored(spec, secrets, access, before: known)
            guard snapshot.birth == known.snapshot.birth else { return snapshot }
            if let refresher { known.use(refresher) }
            if secrets != CredentialSecrets() { known.allowRequests() }
            known.take(snapshot)
            return snapshot
        }
        if snapshot.birth == known.snapshot.birth { return known }
        // another process deleted the known credential in the meantime
        drop(known)
        return keep(snapshot, refresher)
    }

    private func stored(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, _ access: AccessToken?, before: SharedCredential?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        if spec.isKeptByService { return Self.changed(before?.snapshot, to: spec, access) }
        guard let vault else { throw TokenSource.noVault }
        return try await vault.store(spec, secrets, access: access)
    }

    /// Changes settings to those of `spec`; replaces tokens, or clears them.
    package func change(
        _ credential: SharedCredential, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?, clearing: Bool
    ) async throws(OAuthFailure) {
        try await credential.changes.take { () async throws(OAuthFailure) in
            let id = credential.snapshot.id
            if clearing {
                if !spec.isKeptByService {
                    _ = try await vault?.erase(id, spec: false, revoke: false, upTo: nil, recorder: nil)
                }
                credential.clear(because: nil)
            }
            if spec.isKeptByService {
                var changed = credential.snapshot.spec
                changed.take(settings, of: spec)
                credential.take(Self.changed(credential.snapshot, to: changed, access))
            } else if let vault {
                let stored = try await vault.change(id, settings, of: spec, secrets, access: access)
                if secrets != CredentialSecrets() { credential.allowRequests() }
                credential.take(stored)
            }
        }
    }

    /// Tries again to write unsaved tokens to disk. Returns the names of the credentials that remain unsaved.
    package func save() async -> [String] {
        let (known, vault) = state.withLock { ($0.credentials, $0.vault) }
        var unsaved: [String] = []
        for (key, credential) in known where credential.snapshot.state == .unsaved {
            await credential.changes.take {
                let known = credential.snapshot
                let saved = try? await vault?.change(known.id, [], of: known.spec, CredentialSecrets(), access: nil)
                if let saved, saved.state != .unsaved { credential.take(saved) } else { unsaved.append(key.text) }
            }
        }
        return unsaved.sorted()
    }

    /// All credentials of this service and the store, by name. If the store cannot be read: the known credentials, and
    /// the failure.
    package func list() async -> (credentials: [CredentialSnapshot], failure: OAuthFailure?) {
        for known in state.withLock({ Array($0.credentials.values) }) {
            if await !known.isCurrent(at: clock().boot, atOnce: true) { drop(known) }
        }
        let (known, vault) = state.withLock { ($0.credentials.mapValues(\.snapshot), $0.vault) }
        var all = known
        var failure: OAuthFailure?
        do throws(OAuthFailure) {
            for one in try await vault?.list() ?? [] {
                let key = ByteText(one.spec.name)
                if all[key] == nil { all[key] = one }
            }
        } catch {
            failure = error
        }
        return (all.values.sorted { $0.spec.name < $1.spec.name }, failure)
    }

    /// What this service knows of its credentials, without a look into the store.
    var known: [CredentialSnapshot] { state.withLock { $0.credentials.values.map(\.snapshot) } }

    /// The same of one name; nil if this service has not used it.
    func known(_ name: String) -> CredentialSnapshot? {
        state.withLock { $0.credentials[ByteText(name)] }?.snapshot
    }

    /// Whether the credential is one of these.
    package func holds(_ credential: SharedCredential) -> Bool {
        state.withLock { $0.credentials[ByteText(credential.name)] } === credential
    }

    /// Credentials of their own, whose events have the same observer.
    func separate(_ vault: any CredentialVault) -> CredentialBroker {
        let made = CredentialBroker(later: later, clock: clock)
        made.use(vault)
        if let observer = state.withLock({ $0.observer }) { made.tell(observer) }
        return made
    }

    /// Access tokens in memory, so that no cassette gets one.
    var tokens: [String] {
        state.withLock { Array($0.credentials.values) }.compactMap { $0.snapshot.access?.token.exposed }
    }

    /// Forgets the credential, and optionally revokes its tokens; throws if the server refuses the revocation.
    package func delete(
        _ credential: SharedCredential, revoking: Bool, recorder: (any TokenRecorder)? = nil
    ) async throws(OAuthFailure) {
        let refusal = try await credential.changes.take { () async throws(OAuthFailure) -> OAuthFailure? in
            let snapshot = credential.snapshot
            // no request gets a token that is about to be revoked
            credential.clear(because: nil)
            var refusal: OAuthFailure?
            if !snapshot.spec.isKeptByService, let vault {
                do throws(OAuthFailure) {
                    refusal = try await vault.erase(
                        snapshot.id, spec: true, revoke: revoking, upTo: nil, recorder: recorder)
                } catch {
                    credential.restore(snapshot)
                    throw error
                }
            }
            forget(credential)
            tell(.deleted, snapshot)
            return refusal
        }
        if let refusal { throw refusal }
    }

    /// Forgets a credential that another process has deleted.
    private func drop(_ credential: SharedCredential) {
        guard forget(credential) else { return }
        let snapshot = credential.snapshot
        credential.clear(because: nil)
        tell(.deleted, snapshot)
    }

    /// False if forgotten already.
    @discardableResult
    private func forget(_ credential: SharedCredential) -> Bool {
        state.withLock { state in
            let key = ByteText(credential.name)
            guard state.credentials[key] === credential else { return false }
            state.credentials[key] = nil
            return true
        }
    }

    private func keep(_ snapshot: CredentialSnapshot, _ refresher: (any TokenRefresher)?) -> SharedCredential {
        let source = TokenSource(
            vault: vault, clock: clock, later: later, tell: { [weak self] in self?.tell($0, $1) })
        let made = SharedCredential(snapshot, source, refresher: refresher)
        return state.withLock { state in
            let key = ByteText(snapshot.spec.name)
            if let other = state.credentials[key] { return other }
            state.credentials[key] = made
            return made
        }
    }

    func tell(_ event: CredentialEvent, _ credential: CredentialSnapshot) {
        state.withLock { $0.observer }?.receive(event, credential)
    }

    private static func changed(
        _ before: CredentialSnapshot?, to spec: CredentialSpec, _ access: AccessToken?
    ) -> CredentialSnapshot {
        var snapshot = before ?? CredentialSnapshot(spec)
        snapshot.spec = spec
        guard let access else { return snapshot }
        snapshot.access = access
        snapshot.state = .ready
        snapshot.generation &+= 1
        return snapshot
    }
}

extension CredentialSpec {
    /// Whether both specs stand for the same tokens: same client, server and purpose.
    package func isSame(as other: CredentialSpec) -> Bool {
        issuer == other.issuer && clientID == other.clientID && endpoints.token == other.endpoints.token
            && resources == other.resources && grant == other.grant && persistence == other.persistence
    }
}
