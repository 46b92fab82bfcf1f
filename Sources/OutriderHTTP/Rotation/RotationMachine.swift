// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Carries a refresh token through a refresh: chooses the next safe step from the files on disk and from each outcome.
///
///     look ──▶ mend ──▶ look ──▶ prepare ──▶ send ──▶ write ──▶ clear ──▶ end
///                                             └─ lost ─▶ send once more, or say that a person must help
///
/// The driver holds the lock of the credential throughout, and may be killed after any step: the next process begins
/// with `look`. No request is sent before room for its response is certain. The intent is written before the first byte
/// of the request, the response before it is parsed, the record before any caller has the token.
package struct RotationMachine: ~Copyable {
    private let order: Order
    private let boot: String
    /// 0.9 to 1.1.
    private let jitter: Double
    private var attempt: UInt64
    private var plan: [Action] = []
    private var current = Action.look
    /// The record of the running request.
    private var record: CredentialRecord?
    private var isSaved = true
    private var escrowed: UInt64?
    private var looks = 0
    private var intent: RotationIntent?
    /// The lost attempt being repeated, and the age of its unknown outcome in seconds.
    private var repeated: (intent: RotationIntent, age: Double)?
    private var lastPause: RotationPause?
    /// The response of the server, until it is certain that no process has newer tokens.
    private var refusal: OAuthFailure?

    /// An attempt lost after more seconds than this is not repeated by the same process, since other processes wait for
    /// the lock.
    private static let quick = 10.0
    private static let mostLooks = 16

    /// - Parameters:
    ///   - attempt: random.
    ///   - jitter: 0.9 to 1.1.
    package init(_ order: Order, boot: String, attempt: UInt64, jitter: Double = 1) {
        self.order = order
        self.boot = boot
        self.attempt = attempt
        self.jitter = jitter
    }

    // MARK: events

    /// The last action has been performed.
    package mutating func done() -> Action {
        current = plan.isEmpty ? .look : plan.removeFirst()
        return current
    }

    /// The last action could not be performed.
    package mutating func failed(_ failure: OAuthFailure) -> Action {
        switch current {
        case .prepare, .quarantine, .quarantineEscrow: return run([.end(.failed(failure))])
        case .write(let record) where record.generation == escrowed: return run([.look])
        case .write(let record) where record.generation > (self.record?.generation ?? 0) && self.record != nil:
            isSaved = false
            return run([.escrow(record), plan.contains(.look) ? .look : .end(ending(record))])
        case .write: return run([plan.last { if case .end = $0 { true } else { false } } ?? .end(.failed(failure))])
        case .escrow(let record): return run([.end(ending(record))])
        case .clear where plan.contains(.look): return run([.end(.failed(failure))])
        // only a cleanup failed: the next process repeats it
        default: return done()
        }
    }

    package mutating func found(_ files: RotationFiles, at now: ClockPair) -> Action {
        looks += 1
        if looks > Self.mostLooks { return run([.end(.failed(.restless))]) }
        if let mending = mending(files) { return run(mending) }
        var record = files.record.value
        isSaved = true
        if let escrow = files.escrow.value, escrow.generation > (record?.generation ?? 0) {
            if escrowed != escrow.generation {
                escrowed = escrow.generation
                return run([.write(escrow), .look])
            }
            // the record still cannot be written, and stays in the fallback store
            isSaved = false
            record = escrow
        }
        lastPause = files.pause
        if let refusal {
            if let earlier = self.record, let record, record.generation > earlier.generation {
                return run([.end(.tokens(record, isSaved: isSaved))])
            }
            return refused(refusal, at: now)
        }
        self.record = record
        if let intent = files.intent.value { return pending(intent, files, record, at: now) }
        return settled(at: now)
    }

    package mutating func responded(_ response: TokenEndpointResponse, at now: ClockPair) -> Action {
        guard let record else { return run([.end(.failed(.restless))]) }
        let request = request
        switch TokenVerdict.of(
            response, for: record.spec.name, isLogin: request?.isLogin == true, isPoll: request?.isPoll == true,
            hiding: record.secrets(beside: request))
        {
        case .tokens(let tokens):
            if let fault = request?.fault(in: tokens, for: record.spec, at: now) { return refused(fault, at: now) }
            let renewed = record.renewed(
                by: tokens, to: request ?? .refresh, sentAt: response.sentAt, replayAge: repeated?.age, boot: boot)
            return run([.write(renewed), .clear, .end(ending(renewed))])
        case .refused(let failure) where failure.kind == .needsLogin && request == .refresh:
            refusal = failure
            return run([.look])
        case .refused(let failure):
            return refused(failure, at: now)
        case .unclear(let failure):
            return lost(nil, after: Self.quick, at: now, failure)
        }
    }

    /// Notes that the request may have been sent without a complete, usable response.
    package mutating func lost(
        _ partial: TokenEndpointResponse?, after seconds: Double, at now: ClockPair, _ failure: OAuthFailure? = nil
    ) -> Action {
        if let partial {
            switch TokenVerdict.of(partial, for: record?.spec.name ?? "") {
            // complete tokens or a refusal: the missing rest does not matter
            case .tokens, .refused: return responded(partial, at: now)
            case .unclear: break
            }
        }
        let unknown = failure ?? .outcomeUnknown(record?.spec.name ?? "", isLogin: request?.isSoleLogin == true)
        guard let record, var intent else { return run([.end(.failed(unknown))]) }
        if intent.replays > 0 { return giveUp(record) }
        if seconds < Self.quick { return run([again(intent, record, at: now)]) }
        intent.ended = now
        return run([.stamp(intent), .end(.failed(unknown))])
    }

    /// Notes that certainly nothing was sent.
    package mutating func notSent(_ failure: OAuthFailure, at now: ClockPair) -> Action {
        var plan: [Action] = [.end(.failed(failure))]
        if failure.kind == .temporary { plan.insert(pause(failure, at: now), at: 0) }
        return run(plan)
    }

    /// Notes that the server refused the request, and did not take the token.
    package mutating func refused(_ failure: OAuthFailure, at now: ClockPair) -> Action {
        guard let record, request == .refresh else {
            let isPolling = failure.kind != .temporary || request?.isPoll == true
            return run(isPolling ? [.end(.failed(failure))] : [pause(failure, at: now), .end(.failed(failure))])
        }
        if failure.kind == .needsLogin {
            if repeated != nil { return giveUp(record) }
            return run([.write(record.failing(failure)), .clear, .end(.failed(failure))])
        }
        let pausing = failure.kind == .temporary ? [pause(failure, at: now)] : []
        return run([tidying(after: failure)] + pausing + [.end(.failed(failure))])
    }

    // MARK: decisions

    private mutating func run(_ plan: [Action]) -> Action {
        self.plan = plan
        return done()
    }

    private var request: TokenRequest? { if case .obtain(let request, _) = order { request } else { nil } }

    private func ending(_ record: CredentialRecord) -> End {
        request == nil ? .mended(record, isSaved: isSaved) : .tokens(record, isSaved: isSaved)
    }

    /// Repairs that come before all other steps; nil for none.
    private func mending(_ files: RotationFiles) -> [Action]? {
        if files.record.isDamaged { return [.quarantine(.record), .look] }
        if files.previous.isDamaged { return [.quarantine(.previous), .look] }
        if files.intent.isDamaged { return [.quarantine(.intent), .look] }
        if files.escrow.isDamaged { return [.quarantineEscrow, .look] }
        guard files.record.value == nil, files.escrow.value == nil, let previous = files.previous.value else {
            if let record = files.record.value, let previous = files.previous.value,
                previous.generation > record.generation
            {
                // an older copy was put back
                return [.quarantine(.record), .look]
            }
            return nil
        }
        return [.write(previous.succeedingDamaged()), .look]
    }

    /// A process stopped between the intent and the record.
    private mutating func pending(
        _ intent: RotationIntent, _ files: RotationFiles, _ record: CredentialRecord?, at now: ClockPair
    ) -> Action {
        guard let record, intent.generation == record.generation, intent.token == record.refreshTokenHash else {
            return run([.clear, .look])
        }
        self.intent = intent
        if let response = files.response, response.attempt == intent.attempt,
            let mending = mending(record, by: response)
        {
            return run(mending)
        }
        guard case .obtain(.refresh, let known) = order else { return settled(at: now) }
        if record.failure != nil { return run([.clear, .look]) }
        let age = intent.age(at: now, boot: boot)
        let isInTime = age.map { $0 <= record.grace } ?? false
        let isRepeatable = isInTime || intent.isOwed || record.rotates == false || known == nil
        guard intent.replays == 0, isRepeatable else { return giveUp(record) }
        // in an outage all processes wait together; a repetition that is not owed must not grow old
        if intent.isOwed, known != nil, let left = lastPause?.left(at: now, boot: boot) {
            return run([.end(.failed(.paused(record.spec.name, left)))])
        }
        return run([.prepare(record), again(intent, record, at: now)])
    }

    /// Applies a stored response that was never processed; then the order is looked at anew. Nil if the response is
    /// unclear.
    private func mending(_ record: CredentialRecord, by response: TokenEndpointResponse) -> [Action]? {
        switch TokenVerdict.of(response, for: record.spec.name, hiding: record.secrets(beside: nil)) {
        case .tokens(let tokens):
            // a stored response belongs to a refresh: no other request has an intent
            let renewed = record.renewed(
                by: tokens, to: .refresh, sentAt: response.sentAt, replayAge: repeated?.age, boot: boot)
            return [.write(renewed), .clear, .look]
        case .unclear: return nil
        case .refused where !response.isComplete: return nil
        case .refused(let failure) where (intent?.replays ?? 0) > 0 && failure.kind == .temporary:
            guard var owed = intent else { return nil }
            (owed.attempt, owed.replays, owed.isOwed) = (attempt, 0, true)
            return [.stamp(owed), .look]
        case .refused where (intent?.replays ?? 0) > 0:
            // whatever the second attempt brought, the outcome of the first remains unknown
            return [.write(record.failing(.refreshLost(record.spec.name))), .clear, .look]
        case .refused(let failure) where failure.kind == .needsLogin:
            return [.write(record.failing(failure)), .clear, .look]
        case .refused: return [.clear, .look]
        }
    }

    private mutating func settled(at now: ClockPair) -> Action {
        guard case .obtain(let request, let known) = order else {
            return run([.end(.mended(record, isSaved: isSaved))])
        }
        guard let record else { return run([.end(.mended(nil, isSaved: true))]) }
        if let known {
            if request == .refresh, let failure = record.failure { return run([.end(.failed(failure))]) }
            if record.generation > known, record.failure == nil, isUsable(record, at: now) {
                return run([.end(.tokens(record, isSaved: isSaved))])
            }
            if let left = lastPause?.left(at: now, boot: boot) {
                return run([.end(.failed(.paused(record.spec.name, left)))])
            }
        }
        guard request == .refresh else {
            // a login is independent of a refresh with unknown outcome, and of its token
            intent = nil
            return run([.prepare(record), .send(request, record, nil)])
        }
        guard record.secrets.refreshToken != nil else {
            return run([.end(.failed(.noRefreshToken(record.spec.name)))])
        }
        let intent = RotationIntent(
            generation: record.generation, token: record.refreshTokenHash, attempt: attempt, replays: 0, began: now,
            boot: boot)
        self.intent = intent
        return run([.prepare(record), .send(.refresh, record, intent)])
    }

    private func isUsable(_ record: CredentialRecord, at now: ClockPair) -> Bool {
        guard let access = record.snapshot(at: now, boot: boot).access else { return false }
        return access.validity(at: now).map { $0 > 0 } ?? true
    }

    private mutating func again(
        _ intent: RotationIntent, _ record: CredentialRecord, at now: ClockPair
    ) -> Action {
        attempt &+= 1
        repeated = (intent, intent.age(at: now, boot: boot) ?? 0)
        let again = RotationIntent(
            generation: intent.generation, token: intent.token, attempt: attempt, replays: intent.replays &+ 1,
            began: now, boot: boot)
        self.intent = again
        return .send(.refresh, record, again)
    }

    /// The outcome of a lost attempt remains unknown. An outage does not cost the login: a server that is out of order
    /// has not looked at the token.
    private func tidying(after failure: OAuthFailure) -> Action {
        guard var intent = repeated?.intent else { return .clear }
        if failure.kind == .temporary { intent.isOwed = true }
        return .stamp(intent)
    }

    private mutating func giveUp(_ record: CredentialRecord) -> Action {
        let failure = OAuthFailure.refreshLost(record.spec.name)
        return run([.write(record.failing(failure)), .clear, .end(.failed(failure))])
    }

    private func pause(_ failure: OAuthFailure, at now: ClockPair) -> Action {
        .pause(.after(lastPause, retryAfter: failure.retryAfter, jitter: jitter, at: now, boot: boot))
    }
}
