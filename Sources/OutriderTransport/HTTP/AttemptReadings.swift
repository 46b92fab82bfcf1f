// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension AttemptRunner {
    /// Up to date on the loop; on other threads as of the head, the end, or the last failure.
    var timeline: Timeline {
        pool.loop.inEventLoop ? clock.snapshot : published.withLock { $0.timeline }
    }

    var trailers: HTTPFields {
        pool.loop.inEventLoop ? body.trailers : published.withLock { $0.trailers }
    }

    /// Received and total bytes of a compressed response; nil off the loop.
    var wireBytes: (got: Int64, of: Int64?)? { pool.loop.inEventLoop && body.isCoded ? body.progress : nil }

    func publish() {
        published.withLock {
            $0.timeline = clock.snapshot
            $0.trailers = body.trailers
        }
    }
}
