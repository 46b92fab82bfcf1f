// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Whoever sees to it that not all exchanges of a group are on the wire at once.
package protocol TurnKeeper: AnyObject, Sendable {
    /// A new exchange. Why it may not be part of the group; nil if it may.
    func join(_ exchange: Exchange) -> HTTPFailure?

    /// It is over.
    func left(_ exchange: Exchange)

    /// Asks for a turn. `completion` is called once, perhaps before this returns: with nil for the turn, or with the failure
    /// if there is none. `queued` is called first if the exchange has to wait. After a `withdraw` that returns true neither is
    /// called.
    func enter(
        _ exchange: Exchange, _ priority: RequestPriority, queued: () -> Void,
        completion: @escaping @Sendable (HTTPFailure?) -> Void)

    /// It had made room, and wants to go on: true for at once, otherwise it is told when it has its turn, unless it
    /// withdraws before. Nobody tells it when the group ends: its end does.
    func reenter(_ exchange: Exchange, goOn: @escaping @Sendable () -> Void) -> Bool

    /// It waits no longer for its turn. False if it does not wait: a turn that it was told of stands, and is left.
    func withdraw(_ exchange: Exchange) -> Bool

    /// The attempt is over, or suspended.
    func leave()
}
