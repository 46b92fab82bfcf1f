// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// An event of an exchange for its observer.
package enum ExchangeEvent: Sendable {
    case state(RequestPhase, at: WallTime)
    /// The head of a response; the attempt is counted from 1.
    case response(ExchangeHead, url: String, attempt: Int)
    /// A redirect is followed.
    case redirect(RedirectHop, attempt: Int)
    /// The attempt failed or its response was rejected (failure nil); the request is sent again after `delay` seconds.
    case retry(attempt: Int, delay: Double, HTTPFailure?)
    case progress(ProgressReport)
    /// The last event.
    case finish(ExchangeOutcome)
}

/// The rest of an event's delivery, to be awaited until the listener has room.
package typealias EventDelivery = @Sendable () async -> Void

/// Receives the events of an exchange.
package protocol ExchangeObserver: AnyObject, Sendable {
    /// Seconds between two progress reports per direction; nil for no reports.
    var progressInterval: Double? { get }

    /// Receives the events in order. Returns nil if the event was delivered, else the rest of the delivery. The
    /// exchange waits for that, so a slow listener slows the server down and takes no memory.
    func receive(_ event: ExchangeEvent) -> EventDelivery?

    /// Receives an event at a point where the exchange cannot wait; such events may be dropped.
    func receiveDroppable(_ event: ExchangeEvent)
}
