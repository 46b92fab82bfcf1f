// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The progress of both bodies of a request, in uncompressed bytes.
package struct Progress: Sendable, Equatable {
    package var sent: Int64 = 0
    /// Bytes to send, if known.
    package var sentTotal: Int64?
    package var received: Int64 = 0
    /// Bytes to receive, if known.
    package var receivedTotal: Int64?

    package init() {}
}
