// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The part that the handshake needs. The whole one brings schemas and callbacks with it.
package enum ValidationRule {
    package static let transient: Set<Int> = [503]
}
