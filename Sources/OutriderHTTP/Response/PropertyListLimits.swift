// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The bounds of reading a property list.
enum PropertyListLimits {
    /// Arrays and dictionaries inside each other.
    static let depth = 128
    /// The most values in the whole list: a binary list may reference a value many times.
    static let values = 1_000_000
    /// Bytes of strings and data in the whole list, for the same reason.
    static let content = 64 << 20
}
