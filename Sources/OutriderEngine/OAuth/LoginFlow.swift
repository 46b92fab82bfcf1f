// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport

/// The logins of people: each credential has at most a single attempt at a time, and a newer attempt replaces an older.
///
/// An attempt belongs to no connection: the client that begins it may leave, and another client may bring the response.
package final class LoginFlow: Sendable {
    /// The destination of the authorization server's redirect.
    package enum Redirect: Sendable {
        /// A listener of our own.
        case loopback(LoopbackWishes)
        /// A client brings the response with `callback`.
        case given(String)
    }

    /// The page that a browser opens.
    package struct Begun: Sendable {
        package var url: String
        package var redirect: String
        package var state: String
        /// Seconds to wait for the response.
        package var seconds: Double
    }

    /// Seconds to wait for the response.
    package static let patience = 300.0

    private let engine: Engine
    private let documents: ServerDocuments
    private let attempts = LoginAttempts()

    package init(_ engine: Engine, _ documents: ServerDocuments) {
        self.engine = engine
        self.documents = documents
    }

    // MARK: authorization codes

    /// Begins a login by a browser. An older attempt of the same credential ends.
    ///
    /// - Parameter stage: stands before the network, and records the requests; nil for none.
    package func login(
        _ credential: SharedCredential, _ redirect: Redirect, _ options: LoginAttempt.Options, random: [UInt8],
        through stage: ReplayStage?
    ) async throws(OAuthFailure) -> Begun {
        let spec = credential.snapshot.spec
        guard spec.grant == .authorizationCode else {
            if spec.grant == .device { try checkDevices(spec) }
            throw Self.wrongGrant(spec, "authorizationCode", spec.grant)
        }
        let (metadata, recorder) = (try await metadata(spec, stage), stage?.recorder)
        let number = attempts.begin(spec.name)
        do {
            let listener: LoopbackListener?
            let address: String
            switch redirect {
            case .given(let uri): (listener, address) = (nil, uri)
            case .loopback(let options):
                let opened = try await engine.listen(
                    options,
                    expects: { [weak self] query in
                        self?.attempts.expects(credential.name, number, "?\(query)") ?? false
                    },
                    arrived: { [weak self] query in self?.arrived("?\(query)", credential, number, recorder) })
                (listener, address) = (opened, opened.address)
            }
            let attempt = try LoginAttempt(
                spec, redirect: address, options: options, mustNameIssuer: metadata?.namesIssuer ?? false,
                random: random)
            let keys = try await keys(spec, attempt, metadata, stage)
            let alarm = engine.later(seconds: Self.patience) { [weak self] in
                self?.end(credential, number, .failure(Self.late))
            }
            attempts.wait(
                spec.name, number,
                .init(attempt: attempt, credential: credential, keys: keys, listener: listener, alarm: alarm))
            return Begun(
                url: attempt.url, redirect: attempt.redirect, state: attempt.state.exposed, seconds: Self.patience)
        } catch {
            end(credential, number, .failure(error))
            throw error
        }
    }

    /// The response that a client brings. Waits until the response is redeemed; a caller that leaves changes nothing.
    ///
    /// A response whose state does not fit is refused, and the attempt continues.
    package func callback(
        _ credential: SharedCredential, _ response: String, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let (number, owner, request) = try attempts.judge(credential.name, response, isGuess: true)
        switch request {
        // the name may belong to another credential by now
        case .success(let request): redeem(request, owner, number, recorder)
        case .failure(let failure): end(owner, number, .failure(failure))
        }
        guard let ending = await attempts.ending(of: credential.name, number) else { throw Self.left }
        return try ending.get()
    }

    /// A browser came back to the listener.
    private func arrived(
        _ query: String, _ credential: SharedCredential, _ number: Int, _ recorder: (any TokenRecorder)?
    ) {
        guard let (_, _, request) = try? attempts.judge(credential.name, query, isGuess: false, number) else { return }
        switch request {
        case .success(let request): redeem(request, credential, number, recorder)
        case .failure(let failure): end(credential, number, .failure(failure))
        }
    }

    private func redeem(
        _ request: TokenRequest, _ credential: SharedCredential, _ number: Int, _ recorder: (any TokenRecorder)?
    ) {
        Task.detached { [self] in
            do throws(OAuthFailure) {
                end(credential, number, .success(try await obtain(request, credential, recorder)))
            } catch {
                end(credential, number, .failure(error))
            }
        }
    }

    // MARK: devices

    /// Begins a login on another device, and polls the server until a person has approved the login there.
    package func device(
        _ credential: SharedCredential, scope: [String]?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> DeviceAuthorization {
        let spec = credential.snapshot.spec
        guard spec.grant == .device else { throw Self.wrongGrant(spec, "device", spec.grant) }
        try checkDevices(spec)
        guard spec.endpoints.device != nil else {
            throw OAuthFailure(
                .config, "no_device_endpoint",
                "\(spec.name) has no deviceUrl: create it with one, or with an issuer that has one")
        }
        let id = credential.snapshot.id
        let authorization = try DeviceAuthorization(
            response: try await vault(of: credential).authorizeDevice(id, scope: scope, recorder: recorder))
        let number = attempts.begin(spec.name)
        let request = TokenRequest.deviceCode(authorization.deviceCode, scope: scope ?? spec.scope)
        let task = Task.detached { [self] in await poll(authorization, request, credential, number, recorder) }
        attempts.run(spec.name, number, task)
        return authorization
    }

    /// The owner of the service may forbid such logins: an attacker gets the tokens of a person who is
    /// talked into entering the attacker's code (RFC 8628 section 5.4).
    private func checkDevices(_ spec: CredentialSpec) throws(OAuthFailure) {
        if engine.settings.deviceLogin { return }
        throw OAuthFailure(
            .config, "device_login_off",
            "this service refuses logins on another device (--no-device-login, OUTRIDER_NO_DEVICE_LOGIN): "
                + "make \(spec.name) with the grant authorizationCode, and log in by a browser")
    }

    private func poll(
        _ authorization: DeviceAuthorization, _ request: TokenRequest, _ credential: SharedCredential, _ number: Int,
        _ recorder: (any TokenRecorder)?
    ) async {
        let played = credential.source.vault?.played
        var now = Clocks.now.boot
        var machine = DeviceMachine(authorization, now: now)
        var action = machine.begin(now: now)
        var polls = 0
        while !Task.isCancelled {
            switch action {
            case .poll(let time):
                guard await Self.sleep(until: time, isPlayed: played != nil) else { return }
                if polls > 0, played?.has(request, for: credential.name) == false,
                    machine.hasExpired(withoutPollAt: time)
                {
                    return end(credential, number, .failure(DeviceMachine.expired))
                }
                polls &+= 1
                do throws(OAuthFailure) {
                    let snapshot = try await obtain(request, credential, recorder)
                    return end(credential, number, .success(snapshot))
                } catch {
                    // in a replay the time is the time of the polls, so that as many fit in as in the recording
                    now = played == nil ? Clocks.now.boot : time
                    action = machine.failed(error, now: now)
                }
            case .expire(let time):
                guard await Self.sleep(until: time, isPlayed: played != nil) else { return }
                return end(credential, number, .failure(DeviceMachine.expired))
            case .end(let failure): return end(credential, number, .failure(failure))
            }
        }
    }

    /// Waits by the clock that counts sleep. False if cancelled.
    ///
    /// - Parameter isPlayed: the next response is at hand; a short pause bounds the work of endless polls.
    private static func sleep(until time: Double, isPlayed: Bool) async -> Bool {
        let seconds = isPlayed ? 0.01 : min(max(0, time - Clocks.now.boot), 86_400)
        do {
            try await Task.sleep(for: .seconds(seconds), clock: .continuous)
            return true
        } catch {
            return false
        }
    }

    // MARK: tokens

    /// Revokes the tokens where the server can, and forgets the tokens in any case; also if the call is cancelled.
    ///
    /// - Returns: the reason of a failure; nil after a revocation.
    /// - Throws: if the tokens could not be forgotten; then the credential is unchanged.
    package func logout(
        _ credential: SharedCredential, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> OAuthFailure? {
        cancel(credential, because: Self.loggedOut)
        let vault = try vault(of: credential)
        // a refresh of the credential may take long to end
        let refusal = try await Self.finishing { () async throws(OAuthFailure) -> OAuthFailure? in
            try await credential.changes.take { () async throws(OAuthFailure) -> OAuthFailure? in
                let refusal = try await vault.erase(
                    credential.snapshot.id, spec: false, revoke: true, upTo: nil, recorder: recorder)
                credential.loggedOut(leaving: try? await vault.read(credential.name))
                return refusal
            }
        }
        if refusal != nil || credential.snapshot.spec.endpoints.revocation != nil { return refusal }
        return OAuthFailure(
            .config, "no_revocation_endpoint", "the server has no place to revoke them: they end when they expire")
    }

    /// Deletes the credential and its login under way, also if the call is cancelled; the response of the server to the
    /// revocation is thrown.
    ///
    /// - Parameter deleted: called after a deletion without a failure.
    package func delete(
        _ credential: SharedCredential, of broker: CredentialBroker, revoking: Bool, recorder: (any TokenRecorder)?,
        then deleted: @escaping @Sendable () -> Void
    ) async throws(OAuthFailure) {
        cancel(credential, because: Self.deleted)
        try await Self.finishing { () async throws(OAuthFailure) -> Void in
            try await broker.delete(credential, revoking: revoking, recorder: recorder)
            deleted()
        }
    }

    /// Runs work that continues when its caller is cancelled; throws `leftChange` then.
    private static func finishing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(OAuthFailure) -> Value
    ) async throws(OAuthFailure) -> Value {
        let flight = SingleFlight<Result<Value, OAuthFailure>>()
        let outcome = await flight.join { () async -> Result<Value, OAuthFailure> in
            do throws(OAuthFailure) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }
        guard let outcome else { throw leftChange }
        return try outcome.get()
    }

    /// The server's description of the access token.
    package func introspect(
        _ credential: SharedCredential, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> IntrospectionResponse {
        guard credential.snapshot.spec.endpoints.introspection != nil else {
            throw OAuthFailure(
                .config, "no_introspection_endpoint",
                "\(credential.name) has no introspectionUrl: create it with one, or with an issuer that has one")
        }
        let vault = try vault(of: credential)
        return try IntrospectionResponse(try await vault.introspect(credential.snapshot.id, recorder: recorder))
    }

    // MARK: ends

    /// The end of the attempt under way, or of the last attempt; nil without an attempt, or without an end in time.
    package func ending(of name: String, within seconds: Double?) async -> LoginEnding? {
        await attempts.ending(
            of: name, nil,
            alarm: seconds.map { seconds in
                { work in self.engine.later(seconds: seconds, work) }
            })
    }

    /// Whether a login is under way.
    package func isUnderWay(_ name: String) -> Bool { attempts.isUnderWay(name) }

    /// Gives up the attempt that is under way.
    private func cancel(_ credential: SharedCredential, because failure: OAuthFailure) {
        guard let number = attempts.number(of: credential.name) else { return }
        end(credential, number, .failure(failure))
    }

    private func end(_ credential: SharedCredential, _ number: Int, _ ending: LoginEnding) {
        attempts.end(credential.name, number, ending) {
            guard case .failure(let failure) = ending else { return }
            credential.source.tell(.loginFailed(failure), credential.snapshot)
        }
    }

    private func obtain(
        _ request: TokenRequest, _ credential: SharedCredential, _ recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let vault = try vault(of: credential)
        return try await credential.changes.take { () async throws(OAuthFailure) in
            let snapshot = try await vault.obtain(
                request, for: credential.snapshot.id, newerThan: nil, recorder: recorder)
            credential.take(snapshot)
            return snapshot
        }
    }

    private func vault(of credential: SharedCredential) throws(OAuthFailure) -> any CredentialVault {
        if let vault = credential.source.vault { return vault }
        throw OAuthFailure(.store, "no_store", "this service keeps no credentials")
    }

    // MARK: published documents

    private func metadata(
        _ spec: CredentialSpec, _ stage: ReplayStage?
    ) async throws(OAuthFailure) -> ServerMetadata? {
        guard let issuer = spec.issuer else { return nil }
        return try await documents.metadata(of: issuer, through: stage).metadata
    }

    private func keys(
        _ spec: CredentialSpec, _ attempt: LoginAttempt, _ metadata: ServerMetadata?, _ stage: ReplayStage?
    ) async throws(OAuthFailure) -> String? {
        if attempt.nonce == nil { return nil }
        guard spec.issuer != nil, let place = metadata?.endpoints.keys ?? spec.endpoints.keys else {
            throw OAuthFailure(
                .config, "no_keys",
                "an ID token (scope openid) can be checked only for an issuer that publishes its keys")
        }
        return try await documents.keys(at: place, through: stage)
    }

    private static func wrongGrant(
        _ spec: CredentialSpec, _ wanted: String, _ grant: CredentialSpec.Grant
    ) -> OAuthFailure {
        OAuthFailure(.config, "wrong_grant", "the grant of \(spec.name) is \(grant.rawValue), not \(wanted)")
    }

    private static let late = OAuthFailure(
        .needsLogin, "login_timed_out", "no browser returned from the login within \(Int(patience)) s: log in again")
    private static let left = OAuthFailure(.temporary, "cancelled", "the call was cancelled; the login goes on")
    private static let leftChange = OAuthFailure(
        .temporary, "cancelled", "the call was cancelled; a logout or deletion that has begun goes on")
    private static let loggedOut = OAuthFailure(
        .needsLogin, "logged_out", "a client logged out while this login was under way: log in again")
    private static let deleted = OAuthFailure(
        .needsLogin, "credential_deleted", "the credential was deleted while this login was under way")
}
