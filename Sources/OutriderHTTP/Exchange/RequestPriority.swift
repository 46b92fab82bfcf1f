// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The order of requests when not all can proceed.
package enum RequestPriority: String, Sendable, CaseIterable {
    case low, normal, high

    /// The share of turns while requests of other priorities wait as well.
    var weight: Int {
        switch self {
        case .low: 1
        case .normal: 4
        case .high: 16
        }
    }
}
