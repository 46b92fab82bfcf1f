// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderRPC

/// How the service is run.
package struct ServerSettings: Sendable {
    /// The name of the service in `server.info`.
    package var name = "outrider"
    package var version: String
    package var limits = ServerLimits()
    /// Nil: each client's framing is detected from its first bytes.
    package var framing: Framing?
    /// Keep half-closed clients waiting with spaces (protocol section 3.6).
    package var pad = true
    /// Users who may connect, besides the user of the service and root.
    package var allowedUsers: Set<UInt32> = []
    /// Idle time, without clients and without work, after which the service ends. Nil: never.
    package var idleExit: Duration?
    /// Whether there is work that no client waits for. Called before an idle exit.
    package var isBusy: @Sendable () -> Bool = { false }
    /// Whether SIGTERM, SIGINT and SIGHUP end the service. False in tests.
    package var handlesSignals = true

    package init(version: String) { self.version = version }
}

/// Where the service accepts clients.
package enum Listening: Sendable {
    /// A single client, on stdin and stdout.
    case stdio
    /// The program that started the service, on stdin and stdout, and its further connections on a socket that it
    /// passed.
    case starter(socket: Int32)
    /// A single client, on these two descriptors.
    case descriptors(input: Int32, output: Int32)
    /// A socket that the service creates.
    case socket(SocketPath)
    /// Listening sockets passed by systemd.
    case activated([Int32])
}
