// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How a server was verified; `tls.verified` of a response.
package enum VerifiedBy: String, Sendable, Comparable {
    case none, `default`, roots, pins, callback

    private var rank: Int {
        switch self {
        case .none: 0
        case .default: 1
        case .roots: 2
        case .pins: 3
        case .callback: 4
        }
    }

    package static func < (one: VerifiedBy, other: VerifiedBy) -> Bool { one.rank < other.rank }
}
