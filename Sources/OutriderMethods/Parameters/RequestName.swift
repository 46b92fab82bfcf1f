// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The name of a detached request.
enum RequestName {
    /// Why a text cannot be a name; nil for a valid name.
    static func fault(_ name: String) -> String? {
        if name.isEmpty || name.utf8.count > 128 { return "must have 1 to 128 bytes" }
        if HandleKind.allCases.contains(where: { name.hasPrefix($0.rawValue) }) {
            return "must not begin as a handle does"
        }
        return name.unicodeScalars.contains { $0.value < 0x20 } ? "must not have control characters" : nil
    }
}
