// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The head of a response: status line and fields (RFC 9112 section 4).
package struct ResponseHead: Sendable, Equatable {
    /// The status as received: 100 to 999.
    package var status: Int
    package var reason: String
    package var version: HTTPVersion
    package var fields: HTTPFields

    package init(status: Int, reason: String = "", version: HTTPVersion = .http11, fields: HTTPFields = []) {
        self.status = status
        self.reason = reason
        self.version = version
        self.fields = fields
    }
}

/// An HTTP version, as in the status line.
package struct HTTPVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package var major: Int
    package var minor: Int

    package init(_ major: Int, _ minor: Int) {
        self.major = major
        self.minor = minor
    }

    package static let http11 = HTTPVersion(1, 1)
    package static let http2 = HTTPVersion(2, 0)

    /// "1.1" and "2": later versions have no minor number.
    package var description: String {
        switch (major, minor) {
        case (1, 1): "1.1"
        case (2, 0): "2"
        default: major >= 2 && minor == 0 ? "\(major)" : "\(major).\(minor)"
        }
    }

    package static func < (one: HTTPVersion, other: HTTPVersion) -> Bool {
        (one.major, one.minor) < (other.major, other.minor)
    }
}
