// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// A credential as it stands: the CredentialInfo of the contract. No secret of it is there.
struct CredentialInfoShape: ObjectShape {
    private var snapshot: CredentialSnapshot
    private var counts: TokenMachine.Counts?
    private var isRefreshing = false

    init(_ snapshot: CredentialSnapshot) { self.snapshot = snapshot }

    init(_ credential: SharedCredential) {
        snapshot = credential.snapshot
        counts = credential.counts
        isRefreshing = credential.isRefreshing
    }

    func encodeMembers(to writer: inout JSONWriter) {
        let spec = snapshot.spec
        writer.member("credential", spec.name)
        writer.member("grant", spec.grant.rawValue)
        writer.member("issuer", spec.issuer)
        if spec.grant != .callback { writer.member("tokenUrl", spec.endpoints.token.description) }
        writer.member("clientId", spec.clientID)
        writer.member("scope", snapshot.access?.scope ?? spec.scope)
        writer.member("missingScope", snapshot.access?.listedMissingScope)
        writer.member("parameters", spec.listedParameters)
        writer.member("resources", spec.resources)
        writer.member("origins", spec.origins.map(\.origin))
        writer.member("persist", spec.persistence.rawValue)
        encodeState(to: &writer)
        writer.member("refreshWindow") { writer in
            writer.member("interval", spec.window?.interval)
            writer.member("maximumAttempts", spec.window?.maximumAttempts)
        }
        writer.member("refreshWhen") { writer in
            writer.member("before", spec.refreshBefore)
            writer.member("statuses", spec.refreshStatuses)
        }
        writer.member("hold", spec.holds)
        writer.member("onRefreshFailure", spec.onFailure.rawValue)
        guard let counts else { return }
        writer.member("counts") { writer in
            writer.member("apply", counts.apply)
            writer.member("refresh", counts.refresh)
            writer.member("didRequestFail", counts.didRequestFail)
            writer.member("isRequestAuthenticatedWith", counts.isRequestAuthenticatedWith)
        }
    }

    private func encodeState(to writer: inout JSONWriter) {
        writer.member("state", state)
        writer.member("generation", Int(clamping: snapshot.generation))
        writer.member("tokenType", snapshot.access?.type)
        writer.member("expiresAt", snapshot.access?.expires.map { TimeShape($0.wallTime) })
        writer.member("refreshable", snapshot.hasRefreshToken || snapshot.spec.grant.needsNoRefreshToken)
        writer.member("lastRefresh", snapshot.lastRefresh.map { TimeShape($0.wallTime) })
        if case .needsLogin(let failure) = snapshot.state { writer.member("error", OAuthFailureShape(failure)) }
    }

    private var state: String {
        if isRefreshing { return "refreshing" }
        switch snapshot.state {
        case .needsLogin: return "needsLogin"
        case .unsaved: return "unsaved"
        case .ready, .empty: return snapshot.access == nil && !snapshot.hasRefreshToken ? "empty" : "ready"
        }
    }
}

extension AccessToken {
    /// Nil if nothing is missing.
    var listedMissingScope: [String]? { missingScope.isEmpty ? nil : missingScope }
}

extension CredentialSpec {
    /// Nil for none.
    fileprivate var listedParameters: JSONObject? {
        guard !parameters.isEmpty else { return nil }
        var object = JSONObject()
        for parameter in parameters { object[parameter.name] = .string(parameter.value) }
        return object
    }
}

extension CredentialSpec.Grant {
    fileprivate var needsNoRefreshToken: Bool { self == .callback || self == .clientCredentials || self == .jwtBearer }
}
