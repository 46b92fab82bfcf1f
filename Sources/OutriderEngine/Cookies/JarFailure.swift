// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The reason why a named jar cannot be used or written.
package struct JarFailure: Error, Sendable {
    package enum Reason: String, Sendable {
        /// Made by a later version of Outrider, or not a jar: left unchanged.
        case newer, foreign
        /// The directory is open to others, or on a network file system.
        case unsafe
        /// Sealed, and the key is not available.
        case locked
        /// No permission, a read-only disk, no room, or a failing disk.
        case unwritable
        /// Another process keeps the lock.
        case busy
        case damaged
    }

    package var reason: Reason
    /// A sentence for people, without values of cookies.
    package var message: String

    init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
