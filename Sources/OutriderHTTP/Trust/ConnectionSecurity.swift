// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The settings for trust and client identity of a connection: part of the key of a pooled connection.
///
/// All requests of a session to a host share an object: identity is compared first, and the hash is computed once.
package final class ConnectionSecurity: Sendable, Hashable {
    package let policy: TrustPolicy
    package let settings: TLSSettings
    /// The policy for an https proxy; the origin's policy does not apply to the proxy.
    package let proxyPolicy: TrustPolicy
    /// The session's settings for an https proxy, since a request's own settings hold for the origin of its URL alone.
    package let proxySettings: TLSSettings
    private let hash: Int

    /// - Parameter proxySettings: nil for the settings of the origin.
    package init(
        _ policy: TrustPolicy, _ settings: TLSSettings, proxyPolicy: TrustPolicy = .default,
        proxySettings: TLSSettings? = nil
    ) {
        self.policy = policy
        self.settings = settings
        self.proxyPolicy = proxyPolicy
        self.proxySettings = proxySettings ?? settings
        var hasher = Hasher()
        hasher.combine(policy)
        hasher.combine(settings)
        hasher.combine(proxyPolicy)
        hasher.combine(self.proxySettings)
        hash = hasher.finalize()
    }

    /// The default policy with the roots of the system.
    package static let standard = ConnectionSecurity(.default, .standard)

    package var roots: RootsSpec { settings.roots ?? .system }

    package static func == (one: ConnectionSecurity, other: ConnectionSecurity) -> Bool {
        one === other
            || (one.hash == other.hash && one.policy == other.policy && one.settings == other.settings
                && one.proxyPolicy == other.proxyPolicy && one.proxySettings == other.proxySettings)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The same for TLS with an https proxy: no identity and no other server name.
    package var forProxy: ConnectionSecurity {
        var settings = proxySettings
        settings.identity = nil
        settings.serverName = nil
        return ConnectionSecurity(proxyPolicy, settings)
    }
}
