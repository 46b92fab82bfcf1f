// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A complete download before its file is published.
package struct ArrivedFile: Sendable {
    /// A destination that a callback chose.
    package struct Destination: Sendable {
        package var path: String
        package var replaces: Bool
        package var createsDirectories: Bool

        package init(path: String, replaces: Bool, createsDirectories: Bool) {
            self.path = path
            self.replaces = replaces
            self.createsDirectories = createsDirectories
        }
    }

    /// The temporary path.
    package var path: String
    package var size: Int64
    /// The file name that the server suggests.
    package var suggestedName: String
}
