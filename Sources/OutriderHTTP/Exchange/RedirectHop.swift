// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A redirect that was followed.
package struct RedirectHop: Sendable, Equatable {
    /// The status that redirected: 301, 302, 303, 307 or 308.
    package var status: Int
    package var from: String
    package var to: String
    /// The names of the fields dropped because the origin changed, as written.
    package var dropped: [String]
    /// Not a response, but an upgrade to https by strict transport security (RFC 6797).
    package var isStrict = false

    package init(status: Int, from: String, to: String, dropped: [String] = []) {
        self.status = status
        self.from = from
        self.to = to
        self.dropped = dropped
    }
}
