// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

extension AttemptRunner {
    /// The host that the attempt waits for, as failures name it: the proxy until the tunnel is open, then the origin.
    var place: String {
        guard let proxy = key.proxy?.server else { return attempt.url.host }
        switch clock.phase {
        case .resolve, .connect, .proxy: return "the proxy \(proxy.name)"
        default: return attempt.url.host
        }
    }

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
