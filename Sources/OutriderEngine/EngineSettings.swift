// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The settings of the engine. Every setting has a working default.
package struct EngineSettings: Sendable {
    /// Defaults of each request's timeouts.
    package var timeouts = Timeouts()
    /// Trust roots in PEM in place of the system's; nil for the system's.
    package var caFile: String? {
        didSet { security = caFile.map { SecurityPlan(roots: RootsSpec(file: $0)) } ?? .standard }
    }
    /// Derived from `caFile` once.
    package private(set) var security = SecurityPlan.standard
    /// The file for the secrets of TLS connections; nil for none. For display.
    package var keyLog: String?
    /// The proxy rules in the environment of the service.
    package var proxyEnvironment: Result<ProxyRules, HTTPFailure> = .success(.direct)
    /// For requests without proxy settings, in sessions without; nil for direct connections.
    package var proxies: ProxyRules?
    /// Limit of connections to an origin, for all clients together. Default 64.
    package var connectionsPerHost = 64
    /// Event loops, which divide these connections. Default 1.
    package var loops = 1
    /// The part of each loop, which has connections of its own.
    var connectionsPerLoop: Int { max(1, connectionsPerHost / max(1, loops)) }
    /// Limit of attempts per request, whatever its retriers decide. Default 100.
    package var mostAttempts = 100
    /// Default of a request's `maxInline`, in bytes. Default 1 MiB.
    package var maxInline = 1 << 20
    /// The parent directory for bodies that are too large for memory. Nil for $TMPDIR or /tmp.
    package var temporaryDirectory: String?
    package var quota = BodyQuota.Limits()
    /// Memory for large payloads of all clients together, in bytes. Default 192 MiB, less on small machines.
    package var memory = MemoryBudget.usual
    /// Whether people may log in on another device (RFC 8628).
    package var deviceLogin = true
    /// Seconds for which kept bodies and finished requests stay available. Default 10 minutes.
    package var keepSeconds = 600.0

    /// The directory of named cookie jars; nil for `.local/share/outrider/cookies` in the home of the user.
    package var jars: String?
    /// The path of a Public Suffix List, used if newer than the others; nil for none.
    package var publicSuffixes: String?

    /// The directory of named caches; nil for `.local/share/outrider/caches` in the home of the user.
    package var caches: String?

    package init() {}
}
