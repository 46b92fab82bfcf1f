// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// What the engine is told at its start. Every value has a default that works.
package struct EngineSettings: Sendable {
    /// Defaults of each request's timeouts.
    package var timeouts = Timeouts()
    /// Trust roots in PEM in place of the system's; nil for the system's.
    package var caFile: String? {
        didSet { security = caFile.map { SecurityPlan(roots: RootsSpec(file: $0)) } ?? .standard }
    }
    /// What follows from it, made once.
    package private(set) var security = SecurityPlan.standard
    /// Where the secrets of TLS connections are written; nil for nowhere. For showing it.
    package var keyLog: String?
    /// What the environment of the service says about proxies.
    package var proxyEnvironment: Result<ProxyRules, HTTPFailure> = .success(.direct)
    /// For requests that say nothing of proxies, in sessions that do not; nil for the direct way.
    package var proxies: ProxyRules?
    /// Connections to one origin that all clients together may have. Default 64.
    package var connectionsPerHost = 64
    /// Attempts of one request, whatever its retriers say. Default 100.
    package var mostAttempts = 100
    /// Default of a request's `maxInline`, in bytes. Default 1 MiB.
    package var maxInline = 1 << 20
    /// Where bodies that are too large for memory go: a directory of our own is made in it. Nil for $TMPDIR or /tmp.
    package var temporaryDirectory: String?
    package var quota = BodyQuota.Limits()
    /// Whether people may log in on another device (RFC 8628).
    package var deviceLogin = true
    /// How long kept bodies and finished requests are remembered, in seconds. Default 10 minutes.
    package var keepSeconds = 600.0

    /// The directory of named cookie jars; nil for `.local/share/outrider/cookies` in the home of the user.
    package var jars: String?
    /// A Public Suffix List that counts if it is newer than the others; nil for none.
    package var publicSuffixes: String?

    /// The directory of named caches; nil for `.local/share/outrider/caches` in the home of the user.
    package var caches: String?

    package init() {}
}
