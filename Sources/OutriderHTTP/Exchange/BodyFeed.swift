// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A body that the client supplies while it is sent. Can be read once.
package protocol BodyFeed: AnyObject, Sendable {
    /// Whether no attempt has claimed the feed yet.
    var isFresh: Bool { get }

    /// Claims the feed for an attempt; false if already claimed.
    func take() -> Bool

    /// Requests the next bytes. The reply comes once, on any thread, perhaps before this returns; the next request must
    /// wait for the reply.
    func next(_ hand: @escaping @Sendable (BodyFeedStep) -> Void)

    /// Ends the use of the feed. Repeated calls have no effect.
    func drop()
}

package enum BodyFeedStep: Sendable {
    /// Never empty.
    case bytes([UInt8])
    case end
    /// The client ends the body early, with this failure.
    case failed(HTTPFailure)
}
