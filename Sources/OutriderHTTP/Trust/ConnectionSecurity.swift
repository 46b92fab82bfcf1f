// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Everything that decides who is believed on a connection, and who we are on it: part of the key of a pooled connection.
///
/// One object stands for all requests of a session to a host: it is compared by identity first, and hashed once.
package final class ConnectionSecurity: Sendable, Hashable {
    package let policy: TrustPolicy
    package let settings: TLSSettings
    /// For an https proxy; the policy of an origin does not count there.
    package let proxyPolicy: TrustPolicy
    private let hash: Int

    package init(_ policy: TrustPolicy, _ settings: TLSSettings, proxyPolicy: TrustPolicy = .default) {
        self.policy = policy
        self.settings = settings
        self.proxyPolicy = proxyPolicy
        var hasher = Hasher()
        hasher.combine(policy)
        hasher.combine(settings)
        hasher.combine(proxyPolicy)
        hash = hasher.finalize()
    }

    /// The default policy with the roots of the system.
    package static let standard = ConnectionSecurity(.default, .standard)

    package var roots: RootsSpec { settings.roots ?? .system }

    package static func == (one: ConnectionSecurity, other: ConnectionSecurity) -> Bool {
        one === other
            || (one.hash == other.hash && one.policy == other.policy && one.settings == other.settings
                && one.proxyPolicy == other.proxyPolicy)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The same for TLS with an https proxy: no identity and no other server name.
    package var forProxy: ConnectionSecurity {
        var settings = settings
        settings.identity = nil
        settings.serverName = nil
        return ConnectionSecurity(proxyPolicy, settings)
    }
}
