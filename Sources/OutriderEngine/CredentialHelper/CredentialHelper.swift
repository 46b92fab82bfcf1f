// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import Glibc
import OutriderHTTP
package import OutriderTransport

/// Carries out a single order in a process that does nothing else and then ends. Only this process handles refresh
/// tokens, client secrets and the sealing key in plain text.
package struct CredentialHelper {
    let place: CredentialPlace
    /// Of the record that the order is for; nil for any.
    private let birth: UInt64?
    let root: StoreRoot
    private let post: TokenEndpointClient
    private let log: TokenLog?
    private let proofs = ProofSource()
    private var calls: EndpointCalls { EndpointCalls(post: post, proofs: proofs) }

    package init(_ order: HelperRequest, transport: any Transport) {
        place = order.place
        birth = order.birth
        root = StoreRoot(order.place.directory)
        log = order.isRecorded ? TokenLog() : nil
        post = TokenEndpointClient(
            transport: transport,
            security: order.trustRoots.map { SecurityPlan(roots: RootsSpec(file: $0)) } ?? .standard,
            // our environment is that of the service
            proxies: Result { () throws(HTTPFailure) in
                try ProxyRules.named(order.proxy) { name in getenv(name).map { String(cString: $0) } }
            }, log: log)
    }

    package static func run(_ order: HelperRequest, transport: any Transport) async -> HelperReport {
        let helper = CredentialHelper(order, transport: transport)
        var report: HelperReport
        do throws(OAuthFailure) {
            report = HelperReport(try await helper.admitted(order.work))
        } catch {
            report = HelperReport(.failure(error))
        }
        report.entries = helper.log?.entries ?? []
        return report
    }

    /// Keeps the key of the store unchanged meanwhile.
    private func admitted(_ work: HelperRequest.Work) async throws(OAuthFailure) -> HelperResponse {
        if case .rekey = work { return try await carryOut(work) }
        if case .store = work { try root.prepare() }
        let share = try root.share()
        defer { withExtendedLifetime(share) {} }
        return try await carryOut(work)
    }

    private func carryOut(_ work: HelperRequest.Work) async throws(OAuthFailure) -> HelperResponse {
        switch work {
        case .read(let name): return .snapshots(try read(name))
        case .list: return .snapshots(try list())
        case .store(let spec, let secrets, let access): return .snapshots([try await store(spec, secrets, access)])
        case .change(let spec, let settings, let secrets, let access):
            return .snapshots([try await change(spec, settings, secrets, access)])
        case .obtain(let request, let name, let generation):
            return .snapshots([try await obtain(request, name, newerThan: generation)])
        case .authorizeDevice(let name, let scope):
            return .bytes(try await calls.authorizeDevice(try known(name), scope))
        case .introspect(let name): return .bytes(try await calls.introspect(try known(name)))
        case .erase(let name, let spec, let revoke, let generation):
            let refusal = try await erase(name, spec: spec, revoke: revoke, upTo: generation)
            return refusal.map { .unrevoked($0) } ?? .snapshots([])
        case .unlock(let passphrase):
            try KeyChoice(root).unlock(with: passphrase)
            return .snapshots([])
        case .rekey(let source, let passphrase):
            try await rekey(to: source, passphrase: passphrase)
            return .snapshots([])
        }
    }

    // MARK: without a lock

    private func read(_ name: String) throws(OAuthFailure) -> [CredentialSnapshot] {
        guard try files(name).exists else { return [] }
        let files = try files(name, key: try key())
        // before the record is read: a concurrent write changes the mark
        let mark = files.mark
        guard let (record, isSaved) = try files.read() else { return [] }
        return [snapshot(record, isSaved, mark)]
    }

    private func list() throws(OAuthFailure) -> [CredentialSnapshot] {
        let places = try root.places()
        if places.isEmpty { return [] }
        let key = try key()
        var found: [CredentialSnapshot] = []
        for one in places {
            let files = CredentialFiles(place: one, in: place.directory, key: key, escrow: escrow)
            // a damaged credential reports that when used, and does not hide the others
            let mark = files.mark
            if let (record, isSaved) = try? files.read() { found.append(snapshot(record, isSaved, mark)) }
        }
        return found.sorted { $0.spec.name < $1.spec.name }
    }

    // MARK: with a lock

    private func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, _ access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let (files, known) = try await open(spec.name)
        guard known?.maySuit(spec, secrets, access) ?? true else {
            throw .otherIdentity(spec.name)
        }
        var record = known ?? CredentialRecord(spec, secrets, access: nil, generation: 0, boot: Clocks.boot)
        // a login that began at another endpoint does not end here
        if known?.spec.endpoints.token != spec.endpoints.token { record.birth = .random(in: 1...UInt64.max) }
        record.spec = spec
        return try keep(record, secrets, access, files)
    }

    /// Applies the settings to the newest spec in the store.
    private func change(
        _ spec: CredentialSpec, _ settings: [CredentialSpec.Setting], _ secrets: CredentialSecrets,
        _ access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        guard try files(spec.name).exists else { throw .unknownCredential(spec.name) }
        let (files, known) = try await open(spec.name)
        guard var record = known else { throw .unknownCredential(spec.name) }
        record.spec.take(settings, of: spec)
        return try keep(record, secrets, access, files)
    }

    private func keep(
        _ known: CredentialRecord, _ secrets: CredentialSecrets, _ access: AccessToken?, _ files: CredentialFiles
    ) throws(OAuthFailure) -> CredentialSnapshot {
        var record = known
        record.take(secrets, access, boot: Clocks.boot)
        try files.prepare(record)
        try files.write(record)
        return snapshot(record, true, files.mark)
    }

    private func obtain(
        _ request: TokenRequest, _ name: String, newerThan generation: UInt64?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        guard try files(name).exists else { throw .unknownCredential(name) }
        let files = try lockedFiles(name)
        if birth != nil, let (record, _) = try? files.read() { try check(record) }
        let runner = RotationRunner(files: files, post: post, proofs: proofs)
        switch try await runner.run(.obtain(request, newerThan: generation)) {
        case .tokens(let record, let isSaved): return snapshot(record, isSaved, files.mark)
        case .failed(let failure): throw failure
        case .mended: throw .unknownCredential(name)
        }
    }

    /// Returns the reason why the server did not revoke the tokens; throws if they could not be forgotten.
    private func erase(
        _ name: String, spec forgets: Bool, revoke: Bool, upTo generation: UInt64?
    ) async throws(OAuthFailure) -> OAuthFailure? {
        guard try files(name).exists else { return nil }
        let (files, record) = try await open(name)
        guard var record else { return nil }
        // a newer login replaced these tokens
        if let generation, record.generation > generation { return nil }
        var failure: OAuthFailure?
        if revoke {
            do throws(OAuthFailure) { try await calls.revoke(record) } catch { failure = error }
        }
        if forgets {
            try files.forget()
        } else {
            record.forgetTokens()
            try files.write(record)
            try files.clear()
            try files.forgetPrevious()
        }
        return failure
    }

    // MARK: parts

    /// Locks and mends a credential.
    private func open(
        _ name: String
    ) async throws(OAuthFailure) -> (files: CredentialFiles, record: CredentialRecord?) {
        let files = try lockedFiles(name)
        let runner = RotationRunner(files: files, post: post, proofs: proofs)
        switch try await runner.run(.mend) {
        case .mended(let record, _):
            if let record { try check(record) }
            return (files, record)
        case .tokens(let record, _):
            try check(record)
            return (files, record)
        case .failed(let failure): throw failure
        }
    }

    /// The files of a directory, locked and mended.
    func mended(_ place: String, _ key: SymmetricKey) async throws(OAuthFailure) -> CredentialFiles {
        let files = CredentialFiles(place: place, in: root.directory, key: key, escrow: escrow)
        try files.lock()
        let end = try await RotationRunner(files: files, post: post, proofs: proofs).run(.mend)
        if case .failed(let failure) = end { throw failure }
        return files
    }

    private func lockedFiles(_ name: String) throws(OAuthFailure) -> CredentialFiles {
        let files = try files(name, key: try key())
        try files.lock()
        return files
    }

    private func known(_ name: String) throws(OAuthFailure) -> CredentialRecord {
        guard try files(name).exists, let (record, _) = try files(name, key: try key()).read() else {
            throw .unknownCredential(name)
        }
        try check(record)
        return record
    }

    /// Refuses a different credential of the same name: neither its secrets nor its files may be used.
    private func check(_ record: CredentialRecord) throws(OAuthFailure) {
        if let birth, birth != record.birth { throw .replaced(record.spec.name) }
    }

    /// Without a key, only `exists` works.
    private func files(
        _ name: String, key: SymmetricKey = SymmetricKey(data: [UInt8](repeating: 0, count: 32))
    ) throws(OAuthFailure) -> CredentialFiles {
        guard (1...128).contains(name.count), !name.utf8.contains(0) else {
            throw OAuthFailure(.config, "invalid_name", "a credential's name has between 1 and 128 characters")
        }
        return CredentialFiles(name, in: place.directory, key: key, escrow: escrow)
    }

    func key() throws(OAuthFailure) -> SymmetricKey {
        try root.inspect()
        let key = try KeyRing.key(from: place.key, for: place.directory)
        do throws(OAuthFailure) {
            try root.check(key)
        } catch {
            guard place.key == .passphrase, error.reason == OAuthFailure.wrongKeyReason else { throw error }
            // the store got another passphrase, and the kernel holds the old key
            KeyChoice(root).lock()
            throw KeyRing.locked("it has another passphrase now: run outrider credentials unlock")
        }
        return key
    }

    /// The directory for tokens that cannot be written: memory that lasts until the user logs out, or the machine
    /// stops.
    private var escrow: String { StoreFile.runtime(FallbackRecordStore.place) }

    private func snapshot(_ record: CredentialRecord, _ isSaved: Bool, _ mark: RecordMark?) -> CredentialSnapshot {
        var snapshot = record.snapshot(at: Clocks.now, boot: Clocks.boot, isSaved: isSaved)
        snapshot.mark = mark
        return snapshot
    }
}
