// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The service as a whole, as methods see it.
package protocol ServerControl: AnyObject, Sendable {
    var name: String { get }
    var version: String { get }
    /// Changes with every start.
    var instanceID: String { get }
    var startedAt: ContinuousClock.Instant { get }

    /// Refuses new calls, lets running calls finish within the grace period, then cancels them and ends the process.
    func stop(grace: Duration)

    /// Ends a stdio server at once (LSP `exit`); ignored on a socket.
    func exit(status: Int32)

    /// Ends a stdio server when that process has ended (LSP `processId`), as `exit` with status 1.
    func end(withProcess processID: Int)

    /// Returns the previous setting. The peer gets the log as `event.notice` if the target is `events`.
    func setLog(_ setting: LogSetting, for peer: any Peer) throws(RPCError) -> LogSetting

    /// Connections, calls and events since the start.
    var counters: ServerCounters { get }

    var limits: [(name: StaticString, value: Int)] { get }
}

package struct ServerCounters: Sendable {
    package var connections = 0
    /// Connected clients by event loop.
    package var clientsByLoop: [Int] = []
    package var callsRunning = 0
    package var callsTotal = 0
    package var eventsSent = 0
    package var eventsDropped = 0
    package var bytesReceived = 0
    package var bytesSent = 0

    package init() {}
}
