// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The name of a credential as a key. Names are the same if they have the same bytes, as in the user's store, where
/// strings of Swift are also equal in different normal forms of Unicode.
package struct CredentialKey: Hashable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }

    package static func == (one: CredentialKey, other: CredentialKey) -> Bool {
        one.name.utf8.elementsEqual(other.name.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var name = name
        name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
