// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Limits on a response before its body begins, beside those of `ResponseReader`.
enum HTTP1Limits {
    /// Heads with a 1xx status before the final head.
    static let informational = 20
}
