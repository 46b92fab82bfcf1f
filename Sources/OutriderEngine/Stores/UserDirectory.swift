// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Directories below the home of the user by the password database: the same for every process of a user, whatever its
/// environment says.
enum UserDirectory {
    /// The directory of such data of Outrider; nil for a user without a home.
    static func data(_ name: String) -> String? {
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        let path = String(cString: home)
        return path.hasPrefix("/") ? "\(path)/.local/share/outrider/\(name)" : nil
    }
}
