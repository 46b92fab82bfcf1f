// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The credential and scheme of a request's signature, for `curl` command lines.
package final class AppliedCredential: Sendable {
    package let credential: UserCredential
    /// Nil until a server has chosen.
    package let scheme: UserCredential.Scheme?

    package init(_ credential: UserCredential, _ scheme: UserCredential.Scheme?) {
        self.credential = credential
        self.scheme = scheme
    }
}
