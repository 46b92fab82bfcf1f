// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Who goes first where not all can go.
package enum RequestPriority: String, Sendable, CaseIterable {
    case low, normal, high

    /// How often it comes to its turn, as long as others wait as well.
    var weight: Int {
        switch self {
        case .low: 1
        case .normal: 4
        case .high: 16
        }
    }
}
