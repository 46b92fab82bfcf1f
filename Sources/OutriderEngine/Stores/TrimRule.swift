// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides when the heap returns its free pages to the system: after much memory was used, and most of it was given back.
///
/// A rest comes before: trimming takes milliseconds, in which no thread can allocate.
struct TrimRule {
    /// Less free memory than this is not worth the time: 16 MiB.
    static let least = 16 << 20

    /// The most bytes that were used since the last trim.
    private var most = 0
    private var isResting = false

    mutating func rises(to used: Int) { most = max(most, used) }

    /// Whether a rest begins, after which the caller asks `rested`.
    mutating func falls(to used: Int) -> Bool {
        guard !isResting, isDue(used) else { return false }
        isResting = true
        return true
    }

    /// Whether to trim at the end of the rest: not if much is used again.
    mutating func rested(at used: Int) -> Bool {
        isResting = false
        guard isDue(used) else { return false }
        most = used
        return true
    }

    private func isDue(_ used: Int) -> Bool { most > Self.least && used <= most / 4 }
}
