// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import Synchronization

/// What of an attempt those may see who are not on its loop.
struct AttemptReadings {
    var timeline = Timeline()
    var trailers: HTTPFields = []
}

extension AttemptRunner {
    /// Complete on the loop; elsewhere as of the head, the end, or the last failure.
    var timeline: Timeline {
        pool.loop.inEventLoop ? clock.snapshot : published.withLock { $0.timeline }
    }

    var trailers: HTTPFields {
        pool.loop.inEventLoop ? body.trailers : published.withLock { $0.trailers }
    }

    /// How much of a compressed answer has come, on the loop; elsewhere nothing.
    var wireBytes: (got: Int64, of: Int64?)? { pool.loop.inEventLoop && body.isCoded ? body.progress : nil }

    func publish() {
        let now = AttemptReadings(timeline: clock.snapshot, trailers: body.trailers)
        published.withLock { $0 = now }
    }
}
