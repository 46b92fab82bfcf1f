// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The readings of an attempt that other threads may see.
struct AttemptMetrics {
    var timeline = Timeline()
    var trailers: HTTPFields = []
}
