// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport
import Synchronization

/// Posts a form to an endpoint of an authorization server, once: without redirects or retries, and within 20 seconds.
struct TokenEndpointClient: TokenEndpoint {
    private static let seconds = 20.0

    let transport: any Transport
    let security: SecurityPlan
    /// The proxy rules; if they are invalid, nothing is sent.
    let proxies: Result<ProxyRules?, HTTPFailure>
    /// Gets what is sent; nil if nothing is recorded.
    let log: TokenLog?

    func send(
        _ form: OAuthForm, to url: HTTPURL, _ kind: TokenEntry.Kind, attempt number: UInt64,
        commit: @escaping @Sendable () throws(OAuthFailure) -> Void, keep: (ResponseJournal.Piece) -> Void
    ) async -> TokenOutcome {
        // restarts the alarm, however long the wait for the lock was
        CredentialHelperAlarm.windUp()
        let sentAt = Clocks.now
        let watch = Watch(commit: commit)
        let recording = log.map { TokenRecording($0, form, url, kind) }
        var partial: TokenEndpointResponse?
        do throws(HTTPFailure) {
            let attempt = try attempt(form, url)
            let response = try await head(attempt, watch)
            recording?.began(response)
            let wait = RetryAfter.seconds(response.fields, now: Int64(exactly: sentAt.wall.rounded()) ?? 0)
            keep(.head(attempt: number, status: response.status, retryAfter: wait, sentAt: sentAt))
            var found = TokenEndpointResponse(
                attempt: number, status: response.status, retryAfter: wait, sentAt: sentAt, body: [], isComplete: false)
            // the part of a response beyond this limit is ignored
            while found.body.count < TokenResponseScanner.mostBytes,
                let piece = try await next(response.body, &partial, found)
            {
                let bytes = Array(piece.readableBytesView.prefix(TokenResponseScanner.mostBytes - found.body.count))
                keep(.body(bytes))
                found.body += bytes
            }
            keep(.end)
            found.isComplete = true
            recording?.ended(found.body, nil)
            return .responded(found)
        } catch {
            if let failure = watch.failure { return .notSent(failure) }
            recording?.ended(partial?.body ?? [], error)
            if error.kind == .proxyAuthenticationRequired {
                return .notSent(OAuthFailure(.config, "proxy_refused", error.message))
            }
            if error.isRefusalOfCertificate {
                let failure = OAuthFailure(.temporary, "certificate_refused", error.message)
                return watch.sentAt == nil ? .notSent(failure) : .refused(failure)
            }
            if let sent = watch.sentAt { return .lost(partial, after: Clocks.now.boot - sent.boot, why: error) }
            return .notSent(.unreachable(error))
        }
    }

    private func head(_ attempt: Attempt, _ watch: Watch) async throws(HTTPFailure) -> AttemptResponse {
        let transport = transport
        let sending = Task { () async -> Result<AttemptResponse, HTTPFailure> in
            do throws(HTTPFailure) {
                return .success(try await transport.send(attempt, observer: watch))
            } catch {
                return .failure(error)
            }
        }
        watch.carry(sending)
        return try await sending.value.get()
    }

    /// The next piece; on an error, `partial` is the response so far.
    private func next(
        _ body: any AttemptResponseBody, _ partial: inout TokenEndpointResponse?, _ found: TokenEndpointResponse
    ) async throws(HTTPFailure) -> ByteBuffer? {
        do throws(HTTPFailure) {
            return try await body.next()
        } catch {
            partial = found
            throw error
        }
    }

    private func attempt(_ form: OAuthForm, _ url: HTTPURL) throws(HTTPFailure) -> Attempt {
        var attempt = Attempt(method: "POST", url: url, fields: form.headers, body: .bytes(form.body))
        attempt.timeouts.firstByte = Self.seconds
        attempt.timeouts.idle = Self.seconds
        attempt.timeouts.total = Self.seconds
        attempt.security =
            form.identity.map { SecurityPlan(roots: security.table.settings.roots, identity: $0) } ?? security
        // http is for this machine alone (RFC 8252 section 8.3): no proxy gets to read the secrets of the form
        attempt.proxies = url.isSecure ? try proxies.get() : nil
        if let proxy = attempt.proxy, proxy.speaksHTTP, let user = proxy.credential {
            attempt.proxyAuthorization = ProxyAuthorization(user.basicValue, user)
        }
        // some servers compress although not asked to
        attempt.decodesContent = true
        return attempt
    }

    /// Commits, or gives up before the first byte.
    private final class Watch: AttemptObserver {
        private struct State {
            var sentAt: ClockPair?
            var failure: OAuthFailure?
            var sending: Task<Result<AttemptResponse, HTTPFailure>, Never>?
        }

        private let commit: @Sendable () throws(OAuthFailure) -> Void
        private let state = Mutex(State())

        init(commit: @escaping @Sendable () throws(OAuthFailure) -> Void) { self.commit = commit }

        /// The time when the first byte could be sent; nil if none was.
        var sentAt: ClockPair? { state.withLock { $0.sentAt } }
        var failure: OAuthFailure? { state.withLock { $0.failure } }

        func carry(_ sending: Task<Result<AttemptResponse, HTTPFailure>, Never>) {
            let isRefused = state.withLock { state in
                state.sending = sending
                return state.failure != nil
            }
            if isRefused { sending.cancel() }
        }

        func sending(_ control: any AttemptControl) {
            // a slow disk must not use up the server's time: the request would be sent and its response not awaited
            control.hold()
            do throws(OAuthFailure) {
                try commit()
                let now = Clocks.now
                state.withLock { $0.sentAt = now }
                control.release()
            } catch {
                // a held attempt writes nothing until cancelled
                let sending = state.withLock { state in
                    state.failure = error
                    return state.sending
                }
                sending?.cancel()
            }
        }

        func bodySent(_ bytes: Int64, onWire: Int64?) {}
        func informational(_: ResponseHead) {}
    }
}

/// Writes a request to an authorization server down, without its secrets.
private final class TokenRecording {
    private let log: TokenLog
    private let kind: TokenEntry.Kind
    private var entry: TokenEntry
    private let started = WallTime.now.milliseconds
    private let began = ContinuousClock.now
    private var wait: Double?
    private var head: AttemptScript.Head?

    init(_ log: TokenLog, _ form: OAuthForm, _ url: HTTPURL, _ kind: TokenEntry.Kind) {
        self.log = log
        self.kind = kind
        entry = TokenEntry(form, to: url)
    }

    private var milliseconds: Double { began.duration(to: .now) / .milliseconds(1) }

    func began(_ response: AttemptResponse) {
        wait = milliseconds
        head = AttemptScript.Head(
            status: response.status, reason: response.reason, version: response.version, fields: response.fields)
    }

    func ended(_ body: [UInt8], _ failure: HTTPFailure?) {
        if let head { entry.take(head, body, kind, isComplete: failure == nil) }
        if let failure { entry.take(failure) }
        let total = milliseconds
        entry.time(started: started, wait: wait ?? total, total: total)
        log.add(entry.entry)
    }
}

extension HTTPFailure {
    /// Whether an alert of the server ended the handshake because of the certificate. Without an alert, the connection
    /// may have ended after the request.
    fileprivate var isRefusalOfCertificate: Bool {
        kind == .clientCertificateRequired && details.contains { if case .alert = $0 { true } else { false } }
    }
}

extension OAuthFailure {
    /// No connection was made.
    static func unreachable(_ failure: HTTPFailure) -> OAuthFailure {
        OAuthFailure(
            .temporary, "unreachable", "\(failure.message); nothing was sent, and it is tried again later")
    }
}
