// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The client that work is done for; scarce resources are shared fairly among clients.
package struct ClientKey: Sendable, Hashable {
    private let number: UInt64

    /// - Parameter number: different for each client of the process, and not 0.
    package init(_ number: UInt64) { self.number = number }

    /// The service's own work.
    package static let service = ClientKey(0)
}
