// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How far both bodies of a request are, in bytes that are not compressed.
package struct Progress: Sendable, Equatable {
    package var sent: Int64 = 0
    /// Bytes to send, if known.
    package var sentTotal: Int64?
    package var received: Int64 = 0
    /// Bytes to receive, if known.
    package var receivedTotal: Int64?

    package init() {}
}
