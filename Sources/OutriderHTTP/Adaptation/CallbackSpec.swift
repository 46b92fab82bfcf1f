// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A decision delegated to the caller's code, and the way to reach that code.
package struct CallbackSpec: Sendable, Hashable {
    package enum Way: String, Sendable, CaseIterable {
        /// The caller is asked.
        case request
        /// The caller comes and asks whether there is something to decide.
        case pull
    }

    /// The caller's own word for its code; comes back with every question.
    package var name: String
    package var way: Way
    /// Seconds to wait for the answer. Default 30.
    package var timeout: Double

    package init(_ name: String, way: Way = .request, timeout: Double = 30) {
        self.name = name
        self.way = way
        self.timeout = timeout
    }

    /// The permitted values of `timeout`, in seconds.
    package static let timeouts = 0.1...600.0
    /// Of `name`, in characters of UTF-8.
    package static let longestName = 256
}
