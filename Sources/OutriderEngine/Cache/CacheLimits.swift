// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How much a cache may hold.
package struct CacheLimits: Sendable, Equatable {
    package var maxBytes: Int
    package var maxEntries = 1_000_000
    /// The longest body that is stored; nil for a twentieth of `maxBytes`, at most 16 MiB.
    package var maxEntryBytes: Int?

    package init(maxBytes: Int = 64 << 20) { self.maxBytes = maxBytes }

    package var longestBody: Int { maxEntryBytes ?? min(maxBytes / 20, 16 << 20) }
}
