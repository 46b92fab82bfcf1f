// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes of a body that somebody gives while it is being sent. They can be had once.
package protocol BodyFeed: AnyObject, Sendable {
    /// Whether nobody has taken it yet.
    var isFresh: Bool { get }

    /// Claims it for one sending; false if it was claimed before.
    func take() -> Bool

    /// The next bytes. Asked again only after it has answered; answers once, on any thread, perhaps before this returns.
    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void)

    /// Nobody will ask any more. Harmless when repeated.
    func drop()
}

package enum BodyFeedStep: Sendable {
    /// Never none.
    case bytes([UInt8])
    case end
    /// It ends early, for a reason of the client's.
    case failed(HTTPFailure)
}
