// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Where an exchange is when somebody is asked about it.
package struct ExchangeMoment: Sendable {
    package let exchange: Exchange
    /// The attempt, counted from 1; while one is being made, that one.
    package var attempt: Int
    /// How many retries there have been.
    package var retries: Int
    /// Redirects followed in this attempt.
    package var redirects: [RedirectHop]
    /// What was sent, or is about to be.
    package var request: Attempt
    /// Of the answer, if one arrived.
    package var head: ExchangeHead?
    /// When the last sending began.
    package var sent = ContinuousClock.now
}

/// How the engine asks a client's code, one question at a time. An exchange without one asks nobody, at no cost.
///
/// Each question waits for its answer, within a limit that is the advisor's business; when the exchange is cancelled, the
/// asking task is. What is thrown ends the attempt as that failure.
package protocol ExchangeAdvisor: AnyObject, Sendable {
    /// For `Adaptation.callback`: the attempt as it shall be sent.
    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt

    /// For `RedirectPolicy.callback`: the attempt that shall go on, changed or not; nil leaves the redirect as the answer.
    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt?

    /// For `ExchangePlan.challenge`: who asks; nil for nobody that it would name.
    func challenge(_ name: String, _ question: AuthenticationQuestion, _ moment: ExchangeMoment) async
        -> GivenCredential?

    /// For `asksAboutHead`: throws what is wrong with the head; the body is not read then.
    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure)

    /// For `asksAboutAnswer`: throws what is wrong with the answer, or with bringing it into its shape.
    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure)

    /// For `DownloadSpec.Wishes.destinationCode`: where the file goes that has arrived; nil for where it would go anyway.
    func destination(
        _ name: String, _ file: ArrivedFile, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> ArrivedFile.Destination?

    /// For `CacheSpec.Cacher.modify`: what of a response is stored; nil for nothing.
    func cacheResponse(_ name: String, _ draft: CacheDraft, _ moment: ExchangeMoment) async -> CacheDraft?

    /// For `Retrier.callback`: what is to become of an attempt that failed so.
    func retry(_ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment) async throws(HTTPFailure)
        -> RetryVerdict
}

extension ExchangeAdvisor {
    package func challenge(
        _ name: String, _ question: AuthenticationQuestion, _ moment: ExchangeMoment
    ) async -> GivenCredential? { nil }

    package func cacheResponse(_ name: String, _ draft: CacheDraft, _ moment: ExchangeMoment) async -> CacheDraft? {
        nil
    }

    package func destination(
        _ name: String, _ file: ArrivedFile, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> ArrivedFile.Destination? { nil }
}

/// A download that is all there, and has no name yet.
package struct ArrivedFile: Sendable {
    /// Where somebody wants it.
    package struct Destination: Sendable {
        package var path: String
        package var replaces: Bool
        package var createsDirectories: Bool

        package init(path: String, replaces: Bool, createsDirectories: Bool) {
            self.path = path
            self.replaces = replaces
            self.createsDirectories = createsDirectories
        }
    }

    /// Where it is now.
    package var path: String
    package var size: Int64
    /// What the server calls it.
    package var suggestedName: String
}
