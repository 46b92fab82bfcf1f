// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a cache has done since the service opened it.
package struct CacheCounts: Sendable, Equatable {
    package var hits = 0
    package var misses = 0
    package var revalidated = 0
    package var stale = 0
    package var collapsed = 0
    package var stored = 0
    package var evicted = 0
    package var invalidated = 0
}
