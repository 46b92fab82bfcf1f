// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The server to evaluate, and the policy.
struct TrustSubject {
    var url: String
    var own: SecurityPlan.Own?
    var session: SessionReference?
    var addresses: AddressWord?

    /// Reads all but the URL.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        url = ""
        own = try SecurityPlan.Own.read(&fields)
        session = try fields.optional("session")
        addresses = try fields.choice("addresses")
    }

    /// - Parameter chain: certificates in place of the server's.
    func examined(_ chain: [[UInt8]]? = nil, _ call: Call<ClientScope>) async throws(RPCError) -> TLSExamination {
        let engine = call.scope.service.engine
        let settings = try session?.resolved(call.scope)?.settings
        var spec = RequestSpec(url: url)
        spec.security = settings?.plan ?? engine.settings.security
        spec.ownSecurity = own?.callsClient == true ? own?.bound(to: call.scope.securityCallbacks(call)) : own
        spec.timeouts = engine.settings.timeouts
        if let addresses = addresses ?? settings?.addresses { spec.addresses = addresses.policy }
        do throws(HTTPFailure) {
            let attempt = try await engine.attempt(for: spec, of: call.scope.quota.client)
            guard attempt.url.isSecure else {
                let text = "the URL must begin with https: there are no certificates otherwise"
                throw HTTPFailure(.createURLRequestFailed, text, pointer: "/url")
            }
            return await engine.examine(attempt, chain: chain)
        } catch {
            throw RPCError(.invalidParams, error.message, data: ["pointer": .string(error.pointer ?? "/url")])
        }
    }
}
