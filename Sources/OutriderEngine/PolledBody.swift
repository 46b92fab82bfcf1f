// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The body of a polled attempt. When the last reference to the body goes, the rest is given up.
final class PolledBody: AttemptResponseBody {
    private let attempt: any PolledAttempt
    let expectedBytes: Int64?
    /// The body of the exchange behind the attempt, if this request was sent.
    fileprivate let inner: (any AttemptResponseBody)?
    /// The body of a response that a stored one replaces, such as a 304: only the times are told.
    private let replaced: (any AttemptResponseBody)?
    private let given: HTTPFields
    fileprivate let key: AttemptScript.Origin?

    /// - Parameters:
    ///   - trailers: of a response without an exchange.
    ///   - origin: the place in the cassette of a request with an Authorization.
    init(
        _ attempt: any PolledAttempt, expectedBytes: Int64?, of inner: (any AttemptResponseBody)? = nil,
        inPlaceOf replaced: (any AttemptResponseBody)? = nil, trailers: HTTPFields = [],
        origin: AttemptScript.Origin? = nil
    ) {
        self.attempt = attempt
        self.expectedBytes = expectedBytes
        self.inner = inner
        self.replaced = replaced
        given = trailers
        key = origin
    }

    deinit { abandon() }

    func next() async throws(HTTPFailure) -> ByteBuffer? { try await attempt.next() }

    var wireBytes: (got: Int64, of: Int64?)? { inner?.wireBytes }

    var trailers: HTTPFields { inner?.trailers ?? given }

    var timeline: Timeline { (inner ?? replaced)?.timeline ?? Timeline() }

    func abandon() { attempt.giveUp() }
}

extension AttemptResponseBody {
    /// The place of the request in the cassette; nil without a cassette or an Authorization.
    var origin: AttemptScript.Origin? {
        guard let body = self as? PolledBody else { return nil }
        return body.key ?? body.inner?.origin
    }
}
