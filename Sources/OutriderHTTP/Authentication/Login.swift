// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// With what a request was signed, or will be when it is asked: for showing it as a command line.
package final class Login: Sendable {
    package let credential: UserCredential
    /// Nil until a server has chosen.
    package let scheme: UserCredential.Scheme?

    package init(_ credential: UserCredential, _ scheme: UserCredential.Scheme?) {
        self.credential = credential
        self.scheme = scheme
    }
}
