// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// News from the store for its jar.
struct JarNews: Sendable {
    /// Rows of other processes; all rows on the first read.
    var rows: [JarRow] = []
    /// The counter of the store at the time of the read.
    var mark: UInt64
    var isFirst = false
    /// The database is new, in place of a damaged database: all cookies in memory must be written.
    var isRebuilt = false
    /// The database was removed or replaced during the use: cookies that are neither in `rows` nor wait to be written
    /// are gone.
    var isReplaced = false
    /// The identity of the database; nil if unknown.
    var identity: String?
}
