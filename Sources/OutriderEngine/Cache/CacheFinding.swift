// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What was found for a request.
struct CacheFinding: Sendable {
    /// The entry that Vary selects.
    var entry: CachedEntry?
    /// Whether there are entries for other values of the fields that Vary names.
    var hasVariants = false
}
