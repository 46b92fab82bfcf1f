// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

extension ClientScope {
    /// The stage of requests of a session; nil for the service's stage.
    func stage(of session: SessionRecord?) -> ReplayStage? { (session?.stage ?? stages).current }

    /// The jar that requests of the session use in place of this one, as their stage has it.
    func staged(_ jar: SharedJar, of session: SessionRecord?) -> SharedJar {
        (stage(of: session) ?? service.engine.stage)?.jar(for: jar) ?? jar
    }

    /// The cache that requests of the session use in place of this one, as their stage has it.
    func staged(_ cache: CacheStore, of session: SessionRecord?) -> CacheStore {
        (stage(of: session) ?? service.engine.stage)?.cache(for: cache) ?? cache
    }

    /// The stage that a method names: of a session, of this connection, or with `*` of the whole service. Nil if there
    /// is none. Throws `unknownHandle`, and `wrongState` for a service without a stage.
    func stage(named session: SessionReference?) throws(RPCError) -> ReplayStage? {
        if session?.text == SessionReference.service { return try serviceStage() }
        return try (session?.resolved(self)?.stage ?? stages).current
    }

    /// The same, made if missing.
    func madeStage(named session: SessionReference?) throws(RPCError) -> ReplayStage {
        if session?.text == SessionReference.service { return try serviceStage() }
        return try (session?.resolved(self)?.stage ?? stages).made(over: service.engine.stage)
    }

    private func serviceStage() throws(RPCError) -> ReplayStage {
        if let stage = service.engine.stage { return stage }
        throw RPCError(
            .wrongState, "the service has no stage for all requests: start it with --replay",
            data: ["pointer": .string("/session"), "state": .string("none")])
    }
}

extension SessionReference {
    /// Stands for the requests of all connections, in methods about stages.
    fileprivate static let service = "*"
}

extension ReplayParameter {
    /// Opens the cassette. Throws `wrongState` with the failure.
    func open(_ call: Call<ClientScope>, pointer: String) async throws(RPCError) -> Tape {
        var settings = settings
        settings.program = call.scope.control.version
        let charge = try call.kept(await Tape.size(of: settings.path, for: call.scope.quota.client))
        do throws(HTTPFailure) {
            let tape = try await Tape.open(settings, for: call.scope.quota.client)
            tape.hide(call.scope.service.engine.credentials)
            tape.count(charge, in: call.scope.quota)
            return tape
        } catch {
            var failure = error
            failure.pointer = pointer
            var refusal = RPCError(failure)
            refusal.code = RPCError.Code.wrongState.rawValue
            refusal.data?["state"] = .string("unusable")
            throw refusal
        }
    }
}
