// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A decision delegated to the caller's code, and the way to reach that code.
package struct CallbackSpec: Sendable, Hashable {
    package enum Way: String, Sendable, CaseIterable {
        /// The service sends a request to the caller.
        case request
        /// The caller polls for pending callbacks.
        case pull
    }

    /// The caller's name for its code; part of every callback.
    package var name: String
    package var way: Way
    /// Seconds to wait for the reply. Default: 30.
    package var timeout: Double

    package init(_ name: String, way: Way = .request, timeout: Double = 30) {
        self.name = name
        self.way = way
        self.timeout = timeout
    }

    /// The permitted values of `timeout`, in seconds.
    package static let timeouts = 0.1...600.0
    /// The longest `name`, in characters of UTF-8.
    package static let longestName = 256
}
