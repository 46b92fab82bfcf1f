// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The body of a staged response. When the last reference to it goes, the rest of the body is given up.
final class StagedBody: AttemptResponseBody {
    private let attempt: StagedAttempt
    let expectedBytes: Int64?
    private let staged: HTTPFields
    /// The body of the network, while it is recorded.
    private let inner: (any AttemptResponseBody)?

    /// As what the request was found in a cassette, if it has an Authorization.
    let key: AttemptScript.Origin?

    init(
        _ attempt: StagedAttempt, expectedBytes: Int64?, _ trailers: HTTPFields, _ origin: AttemptScript.Origin? = nil
    ) {
        key = origin
        self.attempt = attempt
        self.expectedBytes = expectedBytes
        staged = trailers
        inner = nil
    }

    init(_ attempt: StagedAttempt, of inner: any AttemptResponseBody) {
        self.attempt = attempt
        self.inner = inner
        expectedBytes = inner.expectedBytes
        staged = []
        key = nil
    }

    var trailers: HTTPFields { inner?.trailers ?? staged }

    var wireBytes: (got: Int64, of: Int64?)? { inner?.wireBytes }

    deinit { abandon() }

    func next() async throws(HTTPFailure) -> ByteBuffer? { try await attempt.next() }

    var timeline: Timeline { inner?.timeline ?? Timeline() }

    func abandon() { attempt.giveUp() }
}

extension AttemptResponseBody {
    /// As what the request was found in a cassette; nil if it was not, or has no Authorization.
    var origin: AttemptScript.Origin? {
        (self as? StagedBody)?.key ?? (self as? CachedBody)?.inner?.origin
    }
}
