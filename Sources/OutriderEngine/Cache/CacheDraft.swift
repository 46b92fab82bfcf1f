// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// A response as it would be stored, for the client's code to change.
package struct CacheDraft: Sendable {
    /// A longer body is not shown to the code, and not stored.
    package static let mostBytes = 1 << 20
    /// Of `userInfo`.
    package static let mostInfoBytes = 4096

    package var status: Int
    package var fields: HTTPFields
    /// Decoded.
    package var body: [UInt8]
    /// Notes of the client: a JSON object as text.
    package var userInfo: String?
    package var isMemoryOnly: Bool
}

/// What becomes of an exchange in the background beside what is stored. Holds no request.
struct CacheBackground: Sendable {
    let counts: @Sendable (Timeline) -> Void
    /// Takes the cookies of the response.
    let takes: @Sendable (HTTPFields, Attempt) -> Void
    /// Limits the exchanges of the session; nil without a session.
    let gate: (any BackgroundGate)?
}

/// Limits what is on the wire at once, also for work without a request.
package protocol BackgroundGate: AnyObject, Sendable {
    /// Requests a turn: true if granted at once, else `goOn` is called once, perhaps before this returns, with whether
    /// the turn is granted. No request waits for work in the background, and only a little of it may wait.
    func enterInBackground(_ goOn: @escaping @Sendable (_ isGranted: Bool) -> Void) -> Bool

    /// The attempt or the work is over, or suspended.
    func leave()
}

/// The request whose exchange fills a cache, as far as the cache needs it.
protocol CacheWatcher: Sendable {
    /// The time for which the request was suspended, or waited for the client's code.
    var heldSoFar: Duration { get }

    /// For an exchange that no request reports, and of which the request is the cause.
    var background: CacheBackground { get }

    /// The request with another proof of its credentials, if a proof is for one sending alone. On the loop.
    ///
    /// - Parameter fields: of the response to the proof that was sent.
    func signedAgain(_ attempt: Attempt, after fields: HTTPFields) -> Attempt

    func tellStored(_ entry: CachedEntry, in store: CacheStore)
    func tell(_ invalidation: Invalidation, in store: CacheStore)

    /// What the client's code makes of a response; nil if nothing is stored.
    func changed(_ draft: CacheDraft, by name: String, for attempt: Attempt) async -> CacheDraft?
}
