// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Limits the exchanges of a group that are on the wire at once.
package protocol AdmissionGate: BackgroundGate {
    /// Adds a new exchange. Returns the failure if the group does not accept the exchange.
    func join(_ exchange: Exchange) -> HTTPFailure?

    /// Whether every exchange is admitted at once, so that no exchange has to ask.
    var admitsAll: Bool { get }

    /// The exchange has ended.
    func left(_ exchange: Exchange)

    /// Requests a turn. `completion` is called once, perhaps before this returns: with nil for the turn, or with the
    /// failure if there is none. `queued` is called first if the exchange has to wait. After a `withdraw` that returns
    /// true neither is called.
    func enter(
        _ exchange: Exchange, _ priority: RequestPriority, queued: () -> Void,
        completion: @escaping @Sendable (HTTPFailure?) -> Void)

    /// Requests the turn again for a resumed exchange: true if granted at once, else `goOn` is called with the turn,
    /// unless withdrawn before. `goOn` is not called at the end of the group: the end of the exchange suffices.
    func reenter(_ exchange: Exchange, goOn: @escaping @Sendable () -> Void) -> Bool

    /// Withdraws from the queue. False if the exchange is not queued: a granted turn stays, and must be left.
    func withdraw(_ exchange: Exchange) -> Bool
}
