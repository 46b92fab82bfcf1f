// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Ends a helper whose order takes too long.
enum CredentialHelperAlarm {
    /// The wait for key and lock, or a request, its retry and the disk, with room to spare.
    private static let longestSeconds: UInt32 = 110

    /// Ends the process in `longestSeconds` from now.
    static func windUp() { alarm(longestSeconds) }
}
