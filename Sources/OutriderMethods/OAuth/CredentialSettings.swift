// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// What can be said of a credential when it is made, and changed later; what is left out stays as it is.
struct CredentialSettings: Sendable {
    private var scope: ScopeParameter?
    private var parameters: OAuthParametersParameter?
    private var origins: [TokenOriginParameter]?
    private var window: WindowParameter?
    private var when: WhenParameter?
    private var holds: Bool?
    private var onFailure: CredentialSpec.OnFailure?

    /// More are refused.
    private static let mostOrigins = 64

    /// Reads its members where others stand beside them; `finish` is the caller's.
    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        scope = try fields.optional("scope")
        parameters = try fields.optional("parameters")
        origins = try fields.optional("origins") { (origins: [TokenOriginParameter]) in
            origins.count > Self.mostOrigins ? "must not hold more than \(Self.mostOrigins)" : nil
        }
        window = try fields.optional("refreshWindow")
        when = try fields.optional("refreshWhen")
        holds = try fields.optional("hold")
        onFailure = try fields.choice("onRefreshFailure")
    }

    /// Those that are said.
    var given: [CredentialSpec.Setting] {
        let all: [(CredentialSpec.Setting, isGiven: Bool)] = [
            (.scope, scope != nil), (.parameters, parameters != nil), (.origins, origins != nil),
            (.window, window != nil), (.refreshBefore, when?.before != nil),
            (.refreshStatuses, when?.statuses != nil), (.holds, holds != nil), (.onFailure, onFailure != nil),
        ]
        return all.filter(\.isGiven).map(\.0)
    }

    func apply(to spec: inout CredentialSpec) throws(JSONComplaint) {
        if let scope { spec.scope = scope.words }
        if let parameters { spec.parameters = parameters.list }
        if let origins { spec.origins = origins.map(\.url) }
        if let window { spec.window = window.window }
        if let when {
            if let before = when.before { spec.refreshBefore = before }
            if let statuses = when.statuses { spec.refreshStatuses = statuses }
        }
        if let holds { spec.holds = holds }
        guard let onFailure else { return }
        if onFailure == .reauthorize, spec.grant == .clientCredentials || spec.grant == .jwtBearer {
            throw JSONComplaint(
                "reauthorize waits for a login, and the grant \(spec.grant.rawValue) has none: use keep or clear",
                at: JSONPointer(member: "onRefreshFailure"))
        }
        spec.onFailure = onFailure
    }
}

/// `{interval, maximumAttempts}`, or `false` for no window.
private struct WindowParameter: JSONDecodable {
    var window: RefreshWindow?

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let isWanted) = json {
            window = isWanted ? RefreshWindow() : nil
            return
        }
        var fields = try JSONFields(json)
        var window = RefreshWindow()
        if let interval = try fields.number("interval", in: 0.001...86400) { window.interval = interval }
        if let most = try fields.integer("maximumAttempts", in: 0...1000) { window.maximumAttempts = most }
        try fields.finish()
        self.window = window
    }
}

/// `{before, statuses}`.
private struct WhenParameter: JSONDecodable {
    var before: Double?
    var statuses: [Int]?

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        before = try fields.number("before", in: 0...86400)
        statuses = try fields.optional("statuses") { (statuses: [Int]) in
            statuses.count > 32 ? "must not hold more than 32" : nil
        }
        if let index = statuses?.firstIndex(where: { !(400...599).contains($0) }) {
            throw JSONComplaint("must be from 400 to 599").under(index: index).under(member: "statuses")
        }
        try fields.finish()
    }
}
