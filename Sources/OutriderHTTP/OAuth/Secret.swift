// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A text that nobody is shown: a token, a client secret. Compared in constant time.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The text itself: only for putting it into a request, or into the sealed store.
    package let exposed: String

    package init(_ text: String) { exposed = text }

    package static func == (left: Secret, right: Secret) -> Bool {
        let (one, other) = (left.exposed.utf8, right.exposed.utf8)
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    package var description: String { SecretFields.mask }
    package var debugDescription: String { SecretFields.mask }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
