// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A session's settings for trust, TLS and destinations; absent members keep their values.
struct SessionSecurity: Sendable {
    private(set) var trust: SessionTrustParameter?
    private(set) var tls: SessionTLSParameter?
    private(set) var connectTo: (map: HostsParameter<ConnectToParameter>, shown: JSONValue)?

    init() {}

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        trust = try fields.optional("trust")
        tls = try fields.optional("tls")
        let shown = fields.value("connectTo")
        if let map: HostsParameter<ConnectToParameter> = try fields.optional("connectTo"), let shown {
            connectTo = (map, shown)
        }
    }

    var isEmpty: Bool { trust == nil && tls == nil && connectTo == nil }

    mutating func apply(_ changes: SessionSecurity) {
        trust = changes.trust ?? trust
        tls = changes.tls ?? tls
        connectTo = changes.connectTo ?? connectTo
    }

    /// Nil if the session has no such settings.
    ///
    /// - Parameter callbacks: runs the callbacks that the session names.
    func plan(over service: SecurityPlan, _ callbacks: any SecurityCallbacks) -> SecurityPlan? {
        if isEmpty { return nil }
        var table = SecurityPlan.Table()
        if let trust {
            table.policy = trust.policy?.bound(to: callbacks)
            table.hosts = trust.hosts.map { $0.bound(to: callbacks) }
            table.allHostsMustBeEvaluated = trust.allHostsMustBeEvaluated
        }
        if let tls {
            table.settings = tls.settings
            table.settings.identity = tls.settings.identity?.ofSession.bound(to: callbacks)
            table.identities = tls.identities.map { $0.ofSession.bound(to: callbacks) }
        }
        if let connectTo { table.connectTo = connectTo.map.table.map(\.target) }
        return SecurityPlan(table, over: service)
    }

    func encode(to writer: inout JSONWriter) {
        writer.member("trust", trust?.shown ?? .string("default"))
        if let tls { writer.member("tls", tls.shown) }
        if let connectTo { writer.member("connectTo", connectTo.shown) }
    }
}

extension SecurityPlan.Own {
    /// A request's own settings; nil if none.
    static func read(_ fields: inout JSONFields) throws(JSONComplaint) -> SecurityPlan.Own? {
        var own = SecurityPlan.Own()
        own.policy = try fields.optional("trust", as: TrustParameter.self)?.policy
        if let tls: RequestTLSParameter = try fields.optional("tls") { own.settings = tls.settings }
        own.connectTo = try fields.optional("connectTo", as: ConnectToParameter.self)?.target
        return own.isEmpty ? nil : own
    }
}
