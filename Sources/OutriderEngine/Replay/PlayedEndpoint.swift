// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The endpoints of an authorization server as a stage has them.
struct PlayedEndpoint: TokenEndpoint {
    let stage: WeakStage

    /// Whether requests to that endpoint are for the stage.
    func plays(_ url: HTTPURL) -> Bool { stage.value?.playsOnly(url.description) ?? false }

    func has(_ form: OAuthForm, _ url: HTTPURL) -> Bool {
        let attempt = Self.attempt(form, url)
        return stage.value?.hasResponse(attempt, Self.body(of: attempt)) ?? false
    }

    /// The request without its secrets, as its entry has it.
    private static func attempt(_ form: OAuthForm, _ url: HTTPURL) -> Attempt {
        let request = TokenEntry(form, to: url).entry.request
        return Attempt(method: request.method, url: url, fields: request.fields, body: .bytes(request.body))
    }

    private static func body(of attempt: Attempt) -> [UInt8] {
        if case .bytes(let bytes) = attempt.body { bytes } else { [] }
    }

    func send(
        _ form: OAuthForm, to url: HTTPURL, _ kind: TokenEntry.Kind, attempt number: UInt64,
        commit: @escaping @Sendable () throws(OAuthFailure) -> Void, keep: (ResponseJournal.Piece) -> Void
    ) async -> TokenOutcome {
        let sentAt = Clocks.now
        let attempt = Self.attempt(form, url)
        switch await course(of: attempt) {
        case .script(let script, _):
            do throws(OAuthFailure) { try commit() } catch { return .notSent(error) }
            return outcome(script.value, number, sentAt)
        case .fail(let failure): return .notSent(OAuthFailure(.config, "not_played", failure.message))
        case .network, .record, .work:
            return .notSent(
                OAuthFailure(
                    .config, "not_played",
                    "nothing reaches the network while a cassette plays, and the cassette is not for \(url.origin)"))
        }
    }

    /// Bodies of their own files are read away from the caller's thread.
    private func course(of attempt: Attempt) async -> ReplayStage.Course {
        guard let stage = stage.value else { return .network }
        var course = stage.course(of: attempt, Self.body(of: attempt))
        while case .work(let work, _) = course { course = await offLoop(owedTo: .service) { work() } }
        return course
    }

    private func outcome(_ script: AttemptScript, _ number: UInt64, _ sentAt: ClockPair) -> TokenOutcome {
        guard let head = script.head else {
            guard let failure = script.failure else { return .notSent(.outcomeUnknown("")) }
            if failure.sent == .notSent { return .notSent(.unreachable(failure)) }
            return .lost(nil, after: script.delay, why: failure)
        }
        let wait = RetryAfter.seconds(head.fields, now: Int64(exactly: sentAt.wall.rounded()) ?? 0)
        var response = TokenEndpointResponse(
            attempt: number, status: head.status, retryAfter: wait, sentAt: sentAt, body: [], isComplete: false)
        for chunk in script.chunks { response.body += chunk.bytes.prefix(TokenResponseScanner.mostBytes) }
        if let failure = script.failure { return .lost(response, after: script.delay, why: failure) }
        response.isComplete = true
        return .responded(response)
    }
}

/// A stage that does not live for its credentials.
final class WeakStage: Sendable {
    private let find: @Sendable () -> ReplayStage?

    init(_ stage: ReplayStage) { find = { [weak stage] in stage } }

    var value: ReplayStage? { find() }
}
