// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// What stands between the requests of a session and the network: stubs, then a cassette.
package final class ReplayStage: Sendable {
    /// Work that blocks or takes long.
    typealias Work = @Sendable () -> Course

    /// What becomes of an attempt.
    indirect enum Course: Sendable {
        /// It has to be worked out, away from the event loop. `refused` is called if there is no room for that.
        case work(Work, refused: @Sendable () -> Void = {})
        /// With the key of a request whose token may be refused.
        case script(PreparedScript, AttemptScript.Origin? = nil)
        case fail(HTTPFailure)
        case record(Recording)
        case network
    }

    private let stubs = Mutex(StubTable())
    /// The memory of long stubs, by their names.
    private let charges = Mutex<[String: MemoryCharge]>([:])
    /// The memory of the requests that came to the stubs; nil before the first stub.
    private let listed = Mutex<WaitingMemory?>(nil)
    private let shelf: Mutex<Tape?>
    /// Gets the requests that this stage has nothing for; nil for the network.
    let base: ReplayStage?

    /// The credentials while the stage lets nothing reach the network, and their vault.
    private let played = Mutex<(broker: CredentialBroker, vault: PlayedVault)?>(nil)

    /// The metadata that requests of this stage have found, for as long as its cassette stays.
    private let documents = Mutex(MetadataMemory())

    /// The jars and caches of requests, for as long as the cassette stays, or the stubs.
    let memory = Mutex(StageMemory())

    /// Nothing reaches the network that neither a stub nor a cassette is for.
    let isClosed: Bool

    /// - Parameter isClosed: without a cassette and stubs, requests fail.
    package init(_ tape: Tape? = nil, over base: ReplayStage? = nil, isClosed: Bool = false) {
        self.isClosed = isClosed
        shelf = Mutex(tape)
        self.base = base
    }

    /// Reads and changes the stubs.
    package func withStubs<Value: Sendable, Failure: Error>(
        _ work: (inout StubTable) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try stubs.withLock { stubs throws(Failure) in try work(&stubs) }
    }

    /// Counts a long stub until its removal, and from now on the requests that come to the stubs.
    package func count(_ charge: MemoryCharge?, for stub: String, in quota: BodyQuota) {
        if let charge { charges.withLock { $0[stub] = charge } }
        listed.withLock { if $0 == nil { $0 = WaitingMemory(quota) } }
    }

    /// Counts those requests, also beyond the budget. The memory in the result is given back behind all locks.
    private func countRequests(_ bytes: Int) -> [MemoryCharge] { listed.withLock { $0?.fit(bytes) } ?? [] }

    /// The stub was removed; nil for all.
    package func uncount(_ stub: String?) {
        charges.withLock { charges in
            if let stub { charges[stub] = nil } else { charges = [:] }
        }
        _ = countRequests(stubs.withLock { $0.heldBytes })
        if stub == nil, tape == nil { memory.withLock { $0 = StageMemory() } }
    }

    /// The cassette; nil if there is none.
    package var tape: Tape? { shelf.withLock { $0 } }

    /// Puts a cassette in. False if there is one already.
    package func put(_ tape: Tape) -> Bool {
        shelf.withLock { shelf in
            guard shelf == nil else { return false }
            shelf = tape
            documents.withLock { $0 = MetadataMemory() }
            memory.withLock { $0 = StageMemory() }
            return true
        }
    }

    /// Takes the cassette out.
    package func eject() -> Tape? {
        played.withLock { $0 = nil }
        documents.withLock { $0 = MetadataMemory() }
        memory.withLock { $0 = StageMemory() }
        return shelf.withLock { shelf in
            defer { shelf = nil }
            return shelf
        }
    }

    /// Whether the cassette alone has responses, so that no credential is needed and none is refreshed.
    package func playsOnly(_ url: String) -> Bool {
        guard let tape else { return base?.playsOnly(url) ?? isClosed }
        return tape.covers(url) ? tape.isClosed : base?.playsOnly(url) ?? false
    }

    // MARK: credentials

    /// Remembers metadata of authorization servers. A recording has each document once, and the network has no part in
    /// what a cassette plays.
    var metadata: MetadataMemory { documents.withLock { $0 } }

    /// The credentials of the stage; nil if token requests go to the network.
    package func credentials(beside known: CredentialBroker) -> CredentialBroker? {
        playing?.played(beside: known).broker
    }

    /// Whether the stage has a response for the request that renews the token of one of its credentials.
    func renews(_ credential: CredentialSnapshot, beside known: CredentialBroker) -> Bool {
        guard let request = credential.renewal, let playing else { return false }
        return playing.played(beside: known).vault.has(request, for: credential.spec.name)
    }

    /// Whether no request at all reaches the network.
    package var playsAll: Bool {
        guard let tape else { return base?.playsAll ?? isClosed }
        return tape.isClosed && tape.settings.only.isEmpty && tape.settings.except.isEmpty
    }

    /// The stage whose cassette or stubs alone have responses; nil if there is none.
    private var playing: ReplayStage? {
        if let tape { return tape.isClosed ? self : nil }
        return isClosed ? self : base?.playing
    }

    private func played(beside known: CredentialBroker) -> (broker: CredentialBroker, vault: PlayedVault) {
        played.withLock { played in
            if let played { return played }
            let vault = PlayedVault(PlayedEndpoint(stage: WeakStage(self)), beside: known)
            let made = (known.separate(vault), vault)
            played = made
            return made
        }
    }

    /// Whether the cassette or the stubs have a response for the attempt.
    func hasResponse(_ attempt: Attempt, _ body: [UInt8]) -> Bool {
        let request = ReplayRequest(attempt, body: body)
        if !StubTable.fitting(stubs.withLock { $0.rules }, request).isEmpty { return true }
        guard let tape, tape.covers(request.url) else { return base?.hasResponse(attempt, body) ?? false }
        return tape.has(request)
    }

    /// The recorder of token requests; nil if no cassette records.
    package var recorder: (any TokenRecorder)? {
        if let tape, tape.records { return self }
        return base?.recorder
    }

    // MARK: attempts

    /// Whether a response is left for the attempt, which was played before.
    ///
    /// - Parameter key: as what the attempt was found in its cassette.
    func has(_ attempt: Attempt, _ key: RequestMatcher.Key) -> Bool {
        guard let tape, tape.covers(attempt.url.description) else { return base?.has(attempt, key) ?? false }
        return tape.has(key)
    }

    /// For messages of WebSockets that are compared with recorded ones.
    func mask(for url: String) -> CassetteMask {
        tape(for: url)?.state.withLock { $0.mask } ?? CassetteMask()
    }

    /// Of the recorded waits.
    func factor(for url: String) -> Double {
        if case .factor(let factor) = tape(for: url)?.settings.timing { factor } else { 0 }
    }

    /// The cassette for the URL; nil if none covers it.
    private func tape(for url: String) -> Tape? {
        if let tape, tape.covers(url) { return tape }
        return base?.tape(for: url)
    }

    /// Bytes that may be compared on the event loop for a request.
    private static let mostOnLoop = 256 << 10

    /// Whether a request takes long to be compared, or to be searched for secrets.
    static func isLong(_ request: ReplayRequest) -> Bool {
        request.body.count > 16 << 10 || isLong(request.url)
    }

    static func isLong(_ url: String) -> Bool { url.utf8.count > 4 << 10 }

    /// A stage with its contents at one moment. A comparison away from the loop does not see later changes: a request that
    /// a stub or a cassette was for must not reach the network because that was removed meanwhile.
    private struct Look: Sendable {
        let stage: ReplayStage
        let tape: Tape?
        /// Nil if the stubs have nothing to say.
        let rules: [StubTable.NamedRule]?
    }

    /// This stage and the stages below it.
    private var looks: [Look] {
        let tape = tape
        let rules = stubs.withLock { stubs -> [StubTable.NamedRule]? in
            stubs.isEmpty && stubs.unmatched == nil && (!isClosed || tape != nil) ? nil : stubs.rules
        }
        return [Look(stage: self, tape: tape, rules: rules)] + (base?.looks ?? [])
    }

    /// Whether the cassette alone decides.
    var hasNoStubs: Bool { stubs.withLock { $0.isEmpty && $0.unmatched == nil } }

    /// Decides about an attempt whose body is known.
    ///
    /// - Parameter isCoded: the body has a coding that cannot be decoded.
    func course(of attempt: Attempt, _ body: [UInt8], isCoded: Bool = false) -> Course {
        let request = ReplayRequest(attempt, body: body, isCoded: isCoded)
        let looks = looks
        let isLong =
            Self.isLong(request)
            || looks.contains { look in look.stage.stubs.withLock { $0.work(for: request) } > Self.mostOnLoop }
        return isLong
            ? .work { Self.decide(attempt, request, looks[...]) } : Self.decide(attempt, request, looks[...])
    }

    private static func decide(_ attempt: Attempt, _ request: ReplayRequest, _ looks: ArraySlice<Look>) -> Course {
        guard let look = looks.first else { return .network }
        switch look.stage.verdict(request, look) {
        case .reply(let reply, _): return .script(PreparedScript(AttemptScript(reply, for: attempt)))
        case .pass:
            if let tape = look.tape, tape.covers(request.url) { return tape.course(of: attempt, request) }
            return decide(attempt, request, looks.dropFirst())
        case .miss(let failure): return .fail(failure)
        }
    }

    /// What the stubs say. They are compared without the lock.
    private func verdict(_ request: ReplayRequest, _ look: Look) -> StubTable.Verdict {
        guard let rules = look.rules else { return .pass }
        let fitting = StubTable.fitting(rules, request)
        let shown = Self.shown(request)
        let (verdict, bytes) = stubs.withLock { stubs in
            let verdict = stubs.take(
                shown, fitting: fitting, of: rules, at: WallTime.now.milliseconds,
                passes: look.tape != nil || base != nil)
            return (verdict, stubs.heldBytes)
        }
        _ = countRequests(bytes)
        return verdict
    }

    /// The request without its secrets.
    private static func shown(_ request: ReplayRequest) -> ReplayRequest {
        ReplayRequest(
            method: request.method, url: Redaction.masked.url(request.url),
            fields: Redaction.masked.fields(request.fields),
            body: request.isCoded
                ? Array(SecretFields.mask.utf8)
                : Redaction.masked.body(request.body, contentType: request.contentType))
    }
}

extension ReplayStage: TokenRecorder {
    package func record(_ entry: CassetteEntry) {
        guard let tape, tape.covers(entry.request.url) else { return base?.record(entry) ?? () }
        if tape.records { tape.record(entry) }
    }
}
