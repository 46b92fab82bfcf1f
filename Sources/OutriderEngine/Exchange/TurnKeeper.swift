// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Whoever sees to it that not all exchanges of a group are on the wire at once.
package protocol TurnKeeper: AnyObject, Sendable {
    /// A new exchange. Why it may not be part of the group; nil if it may.
    func join(_ exchange: Exchange) -> HTTPFailure?

    /// It is over.
    func left(_ exchange: Exchange)

    /// Waits for a turn, having said so. Throws when there is none.
    func enter(_ priority: RequestPriority, queued: @Sendable () -> Void) async throws(HTTPFailure)

    /// It had made room, and wants to go on: true for at once, otherwise it is told when it has its turn, unless it
    /// withdraws before. Nobody tells it when the group ends: its end does.
    func reenter(_ exchange: Exchange, goOn: @escaping @Sendable () -> Void) -> Bool

    /// It waits no longer to go on. What it was told already stands: it then has to leave.
    func withdraw(_ exchange: Exchange)

    /// The attempt is over, or suspended.
    func leave()
}
