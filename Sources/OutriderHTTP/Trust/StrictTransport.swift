// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The HSTS store of a session (RFC 6797).
package protocol StrictTransport: AnyObject, Sendable {
    /// The https URL; nil if the host has no HSTS entry.
    func upgraded(_ url: HTTPURL) -> HTTPURL?
    /// Takes a Strict-Transport-Security field of a response whose server was verified.
    func learn(_ field: String, from url: HTTPURL)
}
