// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

extension CredentialName {
    /// Tokens are of the user of the service, and of no other user who may connect; the handle of a credential without
    /// a name is of its own connection.
    ///
    /// - Parameter pointer: of the parameter that names the credential.
    func checkOwner(_ call: Call<ClientScope>, at pointer: String) throws(RPCError) {
        if call.peer.info.isOtherUser {
            throw RPCError(
                .notPermitted,
                "the token of \(text.prefix(40)) is refused: only the user of the service may use credentials",
                data: ["pointer": .string(pointer)])
        }
        if !call.scope.mayUse(credential: text) { throw unknown(at: pointer) }
    }

    /// Throws `unknownHandle` for an unknown name, and `noToken` if the store cannot be read.
    func resolved(_ call: Call<ClientScope>) async throws(RPCError) -> SharedCredential {
        let found: SharedCredential?
        do throws(OAuthFailure) {
            found = try await call.scope.credential(text)
        } catch {
            throw RPCError(error)
        }
        guard let found else { throw unknown(at: "/credential") }
        return found
    }

    private func unknown(at pointer: String) -> RPCError {
        RPCError(
            .unknownHandle,
            "there is no credential named \(text.prefix(40)): make it with oauth.create, or look for it with oauth.list",
            data: ["pointer": .string(pointer)])
    }
}

extension ClientScope {
    /// The stage that requests of this connection to authorization servers obey; nil without one.
    var tokenStage: ReplayStage? { stage(of: nil) ?? service.engine.stage }

    /// Records token requests of this connection; nil if no cassette records.
    var tokenRecorder: (any TokenRecorder)? { tokenStage?.recorder }

    /// The credentials that a cassette plays; nil if token requests go to the network.
    private var playedCredentials: CredentialBroker? {
        tokenStage?.credentials(beside: service.engine.credentials)
    }

    /// Whether this connection may use a credential of that name: true for names, and for handles of its own.
    func mayUse(credential name: String) -> Bool { handles.mayUse(credential: name) }

    /// A cassette that is not for all URLs leaves the other credentials as they are.
    fileprivate func credential(_ name: String) async throws(OAuthFailure) -> SharedCredential? {
        guard mayUse(credential: name) else { return nil }
        if let found = try await playedCredentials?.find(name, atOnce: true) { return found }
        if tokenStage?.playsAll == true { return nil }
        return try await service.engine.credentials.find(name, atOnce: true)
    }

    /// Where a credential with that token endpoint is kept.
    func credentials(for endpoint: HTTPURL) -> CredentialBroker {
        let isPlayed = tokenStage?.playsOnly(endpoint.description) == true
        return (isPlayed ? playedCredentials : nil) ?? service.engine.credentials
    }

    /// Where all credentials are kept.
    var allCredentials: CredentialBroker {
        (tokenStage?.playsAll == true ? playedCredentials : nil) ?? service.engine.credentials
    }

    /// Where the credential is kept.
    func credentials(of credential: SharedCredential) -> CredentialBroker {
        if let played = playedCredentials, played.holds(credential) { return played }
        return service.engine.credentials
    }
}

extension HandleTable {
    /// Whether the connection of these handles may use a credential of that name.
    func mayUse(credential name: String) -> Bool {
        guard name.hasPrefix(HandleKind.credential.rawValue) else { return true }
        return (try? find(Handle<OwnCredential>(named: name), "credential")) != nil
    }
}

/// The params of a method that is about one credential, and of nothing else.
struct CredentialParams: JSONDecodable {
    var credential: CredentialName

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let credential: CredentialName? = try fields.optional("credential")
        try fields.finish()
        self.credential = try JSONFields.need("credential", credential)
    }
}

/// A credential without a name: it ends with the connection that made it.
final class OwnCredential: Holdable {
    static let kind = HandleKind.credential

    private enum State { case making, made, closed }

    let handle = Handle<OwnCredential>()
    private let broker: CredentialBroker
    private let state = Mutex(State.making)

    init(_ broker: CredentialBroker) { self.broker = broker }

    /// Detached requests may need the credential, but no client can name its handle.
    var isAwaited: Bool { true }

    /// The broker has the credential now, and deletes it if the connection has ended in the meantime.
    func made() {
        let isClosed = state.withLock { state in
            if state == .closed { return true }
            state = .made
            return false
        }
        if isClosed { delete() }
    }

    func close() {
        let isMade = state.withLock { state in
            defer { state = .closed }
            return state == .made
        }
        if isMade { delete() }
    }

    private func delete() {
        let (broker, name) = (broker, handle.name)
        Task {
            guard let credential = try? await broker.find(name) else { return }
            try? await broker.delete(credential, revoking: false)
        }
    }
}

/// Runs what a credential needs of the store or the network. Throws `noToken` for its failures.
func mappingFailures<Value>(_ work: () async throws(OAuthFailure) -> Value) async throws(RPCError) -> Value {
    do throws(OAuthFailure) {
        return try await work()
    } catch {
        throw RPCError(error)
    }
}

extension RPCError {
    /// For calls that end without a token.
    init(_ failure: OAuthFailure) {
        // the end of the call says nothing about the token
        if failure.reason == "cancelled", Task.isCancelled {
            self.init(.cancelled, failure.message)
            return
        }
        self.init(
            noToken: HTTPFailure(
                .refreshFailed, failure.message, retryable: failure.kind == .temporary, details: [.oauth(failure)]))
    }

    /// The same for a failure that says more.
    init(noToken failure: HTTPFailure) {
        // the end of the call, by its client or by the end of the service, says nothing about the token
        if failure.kind == .explicitlyCancelled, Task.isCancelled {
            self.init(.cancelled, failure.message)
            return
        }
        let shape = JSONWriter.bytes(of: FailureShape(failure))
        let value = (try? JSONParser.parse(shape)) ?? .null
        self.init(.noToken, failure.message, data: ["failure": value])
    }
}
