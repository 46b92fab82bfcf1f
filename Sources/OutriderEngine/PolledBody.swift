// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The body that a polled attempt gives. When the last reference to it goes, the rest of the body is given up.
final class PolledBody: AttemptResponseBody {
    private let attempt: any PolledAttempt
    let expectedBytes: Int64?
    /// The body of the exchange behind it, if this request was the one that was sent.
    fileprivate let inner: (any AttemptResponseBody)?
    /// The same of a response in whose place a stored body stands, as of a 304: only its times are told.
    private let replaced: (any AttemptResponseBody)?
    private let given: HTTPFields
    fileprivate let key: AttemptScript.Origin?

    /// - Parameters:
    ///   - trailers: of a response without an exchange behind it.
    ///   - origin: as what the request was found in a cassette, if it has an Authorization.
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
    /// As what the request was found in a cassette; nil if it was not, or has no Authorization.
    var origin: AttemptScript.Origin? {
        guard let body = self as? PolledBody else { return nil }
        return body.key ?? body.inner?.origin
    }
}
