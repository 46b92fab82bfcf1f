// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Why bytes are no property list.
package struct PropertyListFault: Error, Equatable {
    /// The fault and its place, for the middle of a sentence.
    package var reason: String
}
