// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The security of a request's connections: the request's own settings for the origin of its URL, the session's for
/// other origins.
///
/// Made once for a session, and once for a request with its own settings.
package final class SecurityPlan: Sendable {
    /// Trust, TLS and identities of a session, or of the service.
    package struct Table: Sendable, Hashable {
        /// For hosts without a matching pattern. If nil, such a host fails or gets the default policy; see
        /// `allHostsMustBeEvaluated`.
        package var policy: TrustPolicy?
        package var hosts = HostTable<TrustPolicy>()
        /// A host without a policy is a failure.
        package var allHostsMustBeEvaluated = true
        package var settings = TLSSettings.standard
        package var identities = HostTable<IdentitySpec>()
        /// `host:port` to `host:port`.
        package var connectTo = HostTable<ConnectTarget>()

        package init() {}

        /// Whether the table adds nothing to the service's settings.
        package var isPlain: Bool {
            policy == nil && hosts.isEmpty && settings == .standard && identities.isEmpty && connectTo.isEmpty
        }
    }

    /// A request's own settings.
    package struct Own: Sendable {
        package var policy: TrustPolicy?
        package var settings = TLSSettings.standard
        package var connectTo: ConnectTarget?

        package init() {}

        package var isEmpty: Bool { policy == nil && connectTo == nil && settings == .standard }

        /// Whether the settings contain callbacks.
        package var callsClient: Bool { policy?.callsClient == true || settings.identity?.callsClient == true }

        /// A copy whose callbacks go to that client.
        package func bound(to callbacks: any SecurityCallbacks) -> Own {
            var own = self
            own.policy = policy?.bound(to: callbacks)
            own.settings.identity = settings.identity?.bound(to: callbacks)
            return own
        }
    }

    package let table: Table
    /// The security of all hosts, if the table does not distinguish hosts.
    private let common: ConnectionSecurity?
    private let byHost: HostTable<ConnectionSecurity>
    private let own: Own?
    private let origin: Origin?
    private let ownSecurity: ConnectionSecurity?
    /// Whether all settings are the service's defaults.
    package let isPlain: Bool

    private struct Origin: Sendable, Equatable {
        var isSecure: Bool
        var host: String
        var port: Int
        var socketPath: String?

        init(_ url: HTTPURL) {
            isSecure = url.isSecure
            host = url.host
            port = url.port
            socketPath = url.socketPath
        }
    }

    /// The service's own: the default policy with these roots.
    package init(roots: RootsSpec? = nil, identity: IdentitySpec? = nil) {
        var table = Table()
        table.settings.roots = roots
        table.settings.identity = identity
        self.table = table
        isPlain = table.isPlain
        common = isPlain ? .standard : ConnectionSecurity(.default, table.settings)
        byHost = HostTable()
        own = nil
        origin = nil
        ownSecurity = nil
    }

    package static let standard = SecurityPlan()

    /// A session's plan, with the service's settings as defaults.
    package init(_ given: Table, over service: SecurityPlan) {
        var table = given
        table.settings = given.settings.merged(over: service.table.settings)
        self.table = table
        isPlain = table.isPlain
        let settings = table.settings
        byHost = table.hosts.map { ConnectionSecurity($0, settings) }
        let fallback = table.policy ?? (table.hosts.isEmpty || !table.allHostsMustBeEvaluated ? .default : nil)
        let isSame = table.identities.isEmpty && table.hosts.isEmpty
        common = isSame ? fallback.map { ConnectionSecurity($0, settings) } : nil
        own = nil
        origin = nil
        ownSecurity = nil
    }

    /// A request's, over its session's, or over the service's.
    package init(_ own: Own, for url: HTTPURL, over plan: SecurityPlan) {
        table = plan.table
        isPlain = false
        common = plan.common
        byHost = plan.byHost
        self.own = own
        origin = Origin(url)
        let policy = own.policy ?? (try? plan.policy(for: url))
        var settings = own.settings.merged(over: plan.table.settings)
        if own.settings.identity == nil {
            settings.identity = plan.identity(for: url) ?? settings.identity
        }
        ownSecurity = policy.map { ConnectionSecurity($0, settings) }
    }

    /// Throws `noRequiredEvaluator` if the host needs a policy and has none.
    package func security(for url: HTTPURL, proxy: ProxyServer? = nil) throws(HTTPFailure) -> ConnectionSecurity {
        if let proxy, proxy.kind == .https { return try behind(proxy, url) }
        // without TLS nothing is verified
        if !url.isSecure { return .standard }
        return try origin(of: url)
    }

    private func origin(of url: HTTPURL) throws(HTTPFailure) -> ConnectionSecurity {
        if own != nil, origin == Origin(url), let ownSecurity { return ownSecurity }
        if let common { return common }
        let identity = identity(for: url)
        if identity == nil, let found = byHost.value(host: url.host, port: url.port) { return found }
        var settings = table.settings
        settings.identity = identity ?? settings.identity
        return ConnectionSecurity(try policy(for: url), settings)
    }

    /// The policy of the proxy's host, where the table names that host; else the default.
    private func behind(_ proxy: ProxyServer, _ url: HTTPURL) throws(HTTPFailure) -> ConnectionSecurity {
        let found = table.hosts.value(host: proxy.url.host, port: proxy.url.port) ?? .default
        guard url.isSecure else { return ConnectionSecurity(.default, table.settings, proxyPolicy: found) }
        let origin = try origin(of: url)
        return ConnectionSecurity(
            origin.policy, origin.settings, proxyPolicy: found, proxySettings: table.settings)
    }

    private func identity(for url: HTTPURL) -> IdentitySpec? {
        table.identities.isEmpty ? nil : table.identities.value(host: url.host, port: url.port)
    }

    private func policy(for url: HTTPURL) throws(HTTPFailure) -> TrustPolicy {
        if let found = table.hosts.value(host: url.host, port: url.port) ?? table.policy { return found }
        if table.hosts.isEmpty || !table.allHostsMustBeEvaluated { return .default }
        throw HTTPFailure(
            .noRequiredEvaluator,
            "the session has no trust policy for \(url.host) (add the host to trust.hosts, or set "
                + "allHostsMustBeEvaluated to false)", phase: .tls)
    }

    /// Whether the plan permits a connection with this security, for any host.
    package func mayMake(_ security: ConnectionSecurity) -> Bool {
        let policies = [table.policy ?? .default] + table.hosts.list.map(\.value)
        guard policies.contains(security.policy) else { return false }
        var settings = table.settings
        if settings == security.settings { return true }
        return table.identities.list.contains {
            settings.identity = $0.value
            return settings == security.settings
        }
    }

    /// The target in place of the URL's host and port; nil for none, as always for Unix sockets.
    package func target(for url: HTTPURL) -> ConnectTarget? {
        if url.socketPath != nil { return nil }
        if let own = own?.connectTo, origin == Origin(url) { return own }
        return table.connectTo.isEmpty ? nil : table.connectTo.value(host: url.host, port: url.port)
    }

    /// The fault of the policy for a URL, found before anything is sent: 1500, 1501 or 1502.
    package func fault(for url: HTTPURL) -> HTTPFailure? {
        guard url.isSecure, !isPlain else { return nil }
        do throws(HTTPFailure) {
            return try security(for: url).policy.fault
        } catch {
            return error
        }
    }
}
