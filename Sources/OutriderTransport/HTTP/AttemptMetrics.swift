// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// The readings of an attempt that other threads may see.
struct AttemptMetrics {
    var timeline = Timeline()
    var trailers: HTTPFields = []
}

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
