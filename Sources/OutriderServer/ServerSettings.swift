// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderRPC

/// How the service is run.
package struct ServerSettings: Sendable {
    /// What the service calls itself.
    package var name = "outrider"
    package var version: String
    package var limits = ServerLimits()
    /// Nil: each client's framing is detected from its first bytes.
    package var framing: Framing?
    /// Keep half-closed clients waiting with spaces (protocol section 3.6).
    package var pad = true
    /// Users who may connect, besides our own and root.
    package var allowedUsers: Set<UInt32> = []
    /// End after so long without clients and without work. Nil: never.
    package var idleExit: Duration?
    /// Whether there is work that no client waits for. Asked before an idle exit.
    package var isBusy: @Sendable () -> Bool = { false }
    /// Whether SIGTERM, SIGINT and SIGHUP end the service. Tests say no.
    package var handlesSignals = true

    package init(version: String) { self.version = version }
}

/// Where the clients are.
package enum Listening: Sendable {
    /// One client, on stdin and stdout.
    case stdio
    /// The program that started the service, on stdin and stdout, and further connections of it at a socket that it listens on.
    case starter(socket: Int32)
    /// One client, on these two descriptors.
    case descriptors(input: Int32, output: Int32)
    /// A socket of our own.
    case socket(SocketPath)
    /// Sockets that somebody else listens on.
    case activated([Int32])
}
