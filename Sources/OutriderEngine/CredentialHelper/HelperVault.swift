// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The vault of a service or command: runs each order in a helper process of its own.
package final class HelperVault: CredentialVault {
    package let disk: StoreRoot?
    /// In place of the key chosen for the store.
    package let key: KeySource?
    private let trustRoots: String?
    private let proxy: String?
    private let memory = MemoryStore()
    /// The names of credentials in memory; no name occurs twice.
    private let remembered = Mutex<Set<ByteText>>([])
    private let prompt = Mutex<PassphrasePrompt?>(nil)

    /// - Parameters:
    ///   - directory: of the credentials on disk; nil for the user's default.
    ///   - key: source of the sealing key; nil for the source chosen in the store.
    ///   - trustRoots: in PEM, in place of the system's.
    ///   - proxy: the setting: a URL, `environment`, or `none`.
    package init(
        directory: String? = nil, key: KeySource? = nil, trustRoots: String? = nil, proxy: String? = nil
    ) {
        disk = (directory ?? StoreRoot.usual).map { StoreRoot($0) }
        self.key = key
        self.trustRoots = trustRoots
        self.proxy = proxy
    }

    package func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let place = spec.persistence == .memory ? try memory.place() : try diskPlace()
        let response = await carryOut(order(.store(spec, secrets, access), in: place))
        let snapshot = try Self.one(response).orFail(.unknownCredential(spec.name))
        remembered.withLock { names in
            let key = ByteText(spec.name)
            if spec.persistence == .memory { names.insert(key) } else { names.remove(key) }
        }
        return snapshot
    }

    package func change(
        _ id: CredentialID, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let response = try await run(.change(spec, settings, secrets, access), for: id)
        return try Self.one(response).orFail(.unknownCredential(id.name))
    }

    package func mark(of name: String) -> RecordMark? {
        guard let disk, !remembered.withLock({ $0.contains(ByteText(name)) }) else { return nil }
        return CredentialFiles.mark(of: "\(disk.directory)/\(CredentialFiles.place(of: name))")
    }

    package func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot? {
        guard let place = try place(of: name) else { return nil }
        return try Self.one(await carryOut(order(.read(name), in: place)))
    }

    package func list() async throws(OAuthFailure) -> [CredentialSnapshot] {
        var found: [CredentialSnapshot] = []
        if !remembered.withLock(\.isEmpty) { found += try await list(try memory.place()) }
        if let key = try diskKey(), let disk {
            found += try await list(CredentialPlace(directory: disk.directory, key: key))
        }
        return found.sorted { $0.spec.name < $1.spec.name }
    }

    package func obtain(
        _ request: TokenRequest, for id: CredentialID, newerThan generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let work = HelperRequest.Work.obtain(request, name: id.name, newerThan: generation)
        return try Self.one(await run(work, for: id, recorder)).orFail(.unknownCredential(id.name))
    }

    package func authorizeDevice(
        _ id: CredentialID, scope: [String]?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> [UInt8] {
        try Self.bytes(await run(.authorizeDevice(id.name, scope: scope), for: id, recorder))
    }

    package func introspect(
        _ id: CredentialID, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> [UInt8] {
        try Self.bytes(await run(.introspect(id.name), for: id, recorder))
    }

    package func erase(
        _ id: CredentialID, spec: Bool, revoke: Bool, upTo generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> OAuthFailure? {
        guard let place = try place(of: id.name) else { return nil }
        let work = HelperRequest.Work.erase(id.name, spec: spec, revoke: revoke, upTo: generation)
        let response = await carryOut(order(work, of: id.birth, in: place), recorder)
        if case .failure(let failure) = response { throw failure }
        if spec { remembered.withLock { _ = $0.remove(ByteText(id.name)) } }
        if case .unrevoked(let failure) = response { return failure }
        return nil
    }

    /// Erases any credential of that name; also throws if the server does not revoke the tokens.
    package func erase(_ name: String, spec: Bool, revoke: Bool) async throws(OAuthFailure) {
        if let refusal = try await erase(CredentialID(name), spec: spec, revoke: revoke, upTo: nil, recorder: nil) {
            throw refusal
        }
    }

    /// Reseals the store on disk with another key. The old key must be available.
    package func rekey(to source: KeySource, passphrase: Secret?) async throws(OAuthFailure) {
        let response = await carryOut(order(.rekey(source, passphrase: passphrase), in: try diskPlace()))
        if case .failure(let failure) = response { throw failure }
    }

    /// Forgets the credentials in memory. Blocks; no order may be under way.
    package func close() { memory.remove() }

    /// Sets the source of the passphrase for a locked store. To be called once.
    package func prompt(_ source: any PassphraseSource) { prompt.withLock { $0 = PassphrasePrompt(source) } }

    // MARK: orders

    private func carryOut(
        _ order: HelperRequest, _ recorder: (any TokenRecorder)? = nil
    ) async -> HelperResponse {
        var order = order
        order.isRecorded = recorder != nil
        var response = await helped(order, recorder)
        // the store got another key since its place was read
        if case .failure(let failure) = response, failure.reason == OAuthFailure.wrongKeyReason, key == nil,
            order.place.directory == disk?.directory, let now = try? diskKey(), now != order.place.key
        {
            var again = order
            again.place.key = now
            response = await helped(again, recorder)
        }
        guard case .failure(let failure) = response, failure.reason == OAuthFailure.lockedReason,
            order.place.key == .passphrase, let prompt = prompt.withLock({ $0 }), await prompt.unlocks(order.place)
        else { return response }
        return await helped(order, recorder)
    }

    private func helped(_ order: HelperRequest, _ recorder: (any TokenRecorder)?) async -> HelperResponse {
        let report = await HelperProcess.run(order)
        if let recorder { report.entries.forEach { recorder.record($0) } }
        return report.response
    }

    // MARK: places

    private func order(
        _ work: HelperRequest.Work, of birth: UInt64? = nil, in place: CredentialPlace
    ) -> HelperRequest {
        HelperRequest(work, of: birth, in: place, trustRoots: trustRoots, proxy: proxy)
    }

    private func run(
        _ work: HelperRequest.Work, for id: CredentialID, _ recorder: (any TokenRecorder)? = nil
    ) async throws(OAuthFailure) -> HelperResponse {
        guard let place = try place(of: id.name) else { throw .unknownCredential(id.name) }
        return await carryOut(order(work, of: id.birth, in: place), recorder)
    }

    private func list(_ place: CredentialPlace) async throws(OAuthFailure) -> [CredentialSnapshot] {
        switch await carryOut(order(.list, in: place)) {
        case .snapshots(let snapshots): return snapshots
        case .failure(let failure), .unrevoked(let failure): throw failure
        case .bytes: return []
        }
    }

    /// Nil if the credential cannot exist: its name is not in memory, and there is no key for the disk.
    private func place(of name: String) throws(OAuthFailure) -> CredentialPlace? {
        if remembered.withLock({ $0.contains(ByteText(name)) }) { return try memory.place() }
        guard let key = try diskKey(), let disk else { return nil }
        return CredentialPlace(directory: disk.directory, key: key)
    }

    private func diskPlace() throws(OAuthFailure) -> CredentialPlace {
        guard let disk else {
            throw OAuthFailure(.store, "store_unsafe", "this user has no home; name a directory with --credentials")
        }
        guard let key = try diskKey() else { throw .noKeyProvider }
        return CredentialPlace(directory: disk.directory, key: key)
    }

    /// Nil if no key is chosen: then the disk holds no credentials.
    package func diskKey() throws(OAuthFailure) -> KeySource? {
        guard let disk else { return nil }
        let source = if let key { key } else { try disk.chosenKey() }
        return source == .none ? nil : source
    }

    // MARK: results

    private static func one(_ response: HelperResponse) throws(OAuthFailure) -> CredentialSnapshot? {
        switch response {
        case .snapshots(let snapshots): return snapshots.first
        case .failure(let failure), .unrevoked(let failure): throw failure
        case .bytes: return nil
        }
    }

    private static func bytes(_ response: HelperResponse) throws(OAuthFailure) -> [UInt8] {
        switch response {
        case .bytes(let bytes): return bytes
        case .failure(let failure), .unrevoked(let failure): throw failure
        case .snapshots: return []
        }
    }
}

extension Optional where Wrapped == CredentialSnapshot {
    fileprivate func orFail(_ failure: OAuthFailure) throws(OAuthFailure) -> CredentialSnapshot {
        guard let self else { throw failure }
        return self
    }
}
