// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// What an observer of an exchange hears.
package enum ExchangeEvent: Sendable {
    case state(RequestPhase, at: WallTime)
    /// The head of an answer; the attempt is counted from 1.
    case response(ExchangeHead, url: String, attempt: Int)
    /// A redirect is followed.
    case redirect(RedirectHop, attempt: Int)
    /// That attempt is given up, and the request sent again after so many seconds; nil for an answer that is not liked.
    case retry(attempt: Int, delay: Double, HTTPFailure?)
    case progress(ProgressReport)
    /// The last one.
    case finish(ExchangeOutcome)
}

/// What is left to be delivered of an event, once the listener has room.
package typealias EventDelivery = @Sendable () async -> Void

/// Hears how an exchange goes on.
package protocol ExchangeObserver: AnyObject, Sendable {
    /// Seconds between two reports of progress in one direction; nil if none are wanted.
    var progressInterval: Double? { get }

    /// Hears the events in their order. Returns nil if the event was delivered, else what is left to do. The exchange waits for
    /// that, so a slow listener slows the server down and takes no memory.
    func heard(_ event: ExchangeEvent) -> EventDelivery?

    /// The same for an event at a place where the exchange cannot wait; such an event may be dropped.
    func glimpsed(_ event: ExchangeEvent)
}

/// The head of an answer.
package struct ExchangeHead: Sendable {
    package var status: Int
    /// "1.0" or "1.1".
    package var version: String
    package var fields: HTTPFields
    /// What a cache did for the response; nil if the request has none.
    package var cache: CacheReport?
}
