// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The state of an exchange at the time of a callback.
package struct ExchangeMoment: Sendable {
    package let exchange: Exchange
    /// The attempt, counted from 1, including an attempt that is being made.
    package var attempt: Int
    /// The number of retries so far.
    package var retries: Int
    /// Redirects followed in this attempt.
    package var redirects: [RedirectHop]
    /// The request sent last, or about to be sent.
    package var request: Attempt
    /// Of the response, if received.
    package var head: ExchangeHead?
    /// The time when the last request was sent.
    package var sent = ContinuousClock.now

    /// Whether the attempt reconnects an event stream or a WebSocket.
    package var isReconnect: Bool { retries > 0 && exchange.plan?.plan.isLasting == true }
}

/// The engine's callbacks to a client, one at a time. An exchange without a delegate makes no callbacks.
///
/// The exchange waits for each reply; the delegate limits the time. A cancelled exchange cancels the waiting task. A
/// thrown failure ends the attempt.
package protocol ExchangeDelegate: AnyObject, Sendable {
    /// For `Adaptation.callback`: the attempt to send.
    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt

    /// For `RedirectPolicy.callback`: the attempt to continue with, changed or not; nil makes the redirect the
    /// response.
    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt?

    /// For `ExchangePlan.challenge`: the credential; nil for none.
    func challenge(_ name: String, _ callback: AuthenticationCallback, _ moment: ExchangeMoment) async
        -> CallbackCredential?

    /// For `judgesHead`: throws if the head is not acceptable; then the body is not read.
    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure)

    /// The failure by rules about the status and the type; nil if they accept the head. Without callbacks.
    ///
    /// - Parameter isEmpty: whether the body is empty.
    func headFault(_ moment: ExchangeMoment, isEmpty: Bool) -> HTTPFailure?

    /// For `reviewsResponse`: throws if the response is not acceptable, or its conversion fails. Returns the failure of
    /// a handler, which the retriers see, and which is no failure of the exchange.
    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure?

    /// For `DownloadSpec.Options.destinationCode`: the destination of the arrived file; nil for the default.
    func destination(
        _ name: String, _ file: ArrivedFile, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> ArrivedFile.Destination?

    /// For `CacheSpec.Cacher.modify`: the response to store; nil to store none.
    func cacheResponse(_ name: String, _ draft: CacheDraft, _ moment: ExchangeMoment) async -> CacheDraft?

    /// For `Retrier.callback`: whether to retry after a failed attempt.
    func retry(_ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment) async throws(HTTPFailure)
        -> RetryVerdict
}

extension ExchangeDelegate {
    package func challenge(
        _ name: String, _ callback: AuthenticationCallback, _ moment: ExchangeMoment
    ) async -> CallbackCredential? { nil }

    package func headFault(_ moment: ExchangeMoment, isEmpty: Bool) -> HTTPFailure? { nil }

    package func cacheResponse(_ name: String, _ draft: CacheDraft, _ moment: ExchangeMoment) async -> CacheDraft? {
        nil
    }

    package func destination(
        _ name: String, _ file: ArrivedFile, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> ArrivedFile.Destination? { nil }
}
