// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A secret with equality, whose descriptions never show the value.
package struct SecretText: Sendable, Equatable, CustomStringConvertible {
    package let value: String

    package init(_ value: String) { self.value = value }

    package var description: String { "***" }
}
