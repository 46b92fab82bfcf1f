// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// The body of a response from a cache. When the last reference to it goes, the rest of the body is given up.
final class CachedBody: AttemptResponseBody {
    private let attempt: CachedAttempt
    let expectedBytes: Int64?
    /// The body of the exchange behind it, if this request was the one that was sent.
    let inner: (any AttemptResponseBody)?
    /// The same of a response in whose place the stored body stands, as of a 304: only its times are told.
    private let replaced: (any AttemptResponseBody)?

    init(
        _ attempt: CachedAttempt, expectedBytes: Int64?, of inner: (any AttemptResponseBody)?,
        inPlaceOf replaced: (any AttemptResponseBody)? = nil
    ) {
        self.attempt = attempt
        self.expectedBytes = expectedBytes
        self.inner = inner
        self.replaced = replaced
    }

    deinit { abandon() }

    func next() async throws(HTTPFailure) -> ByteBuffer? { try await attempt.next() }

    var wireBytes: (got: Int64, of: Int64?)? { inner?.wireBytes }

    var trailers: HTTPFields { inner?.trailers ?? [] }

    var timeline: Timeline { (inner ?? replaced)?.timeline ?? Timeline() }

    func abandon() { attempt.giveUp() }
}
