// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A credential from the client's callback.
package struct CallbackCredential: Sendable {
    package var credential: UserCredential
    /// Whether the session keeps the credential once the server accepts it.
    package var isKept: Bool

    package init(_ credential: UserCredential, isKept: Bool) {
        self.credential = credential
        self.isKept = isKept
    }
}
