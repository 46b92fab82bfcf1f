// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Paths of files in parameters: absolute, or below the home directory of the service's user as `~/…`.
///
/// The service has a working directory of its own, so a relative path would name another file than its writer means.
package enum FilePath {
    /// The absolute path; nil for a relative path, for U+0000, and for `~/` without a home directory.
    package static func absolute(_ path: String, home: String?) -> String? {
        guard !path.utf8.contains(0) else { return nil }
        if path.utf8.first == UInt8(ascii: "/") { return path }
        guard path == "~" || path.utf8.starts(with: "~/".utf8), let home, home.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        return home + path.dropFirst()
    }

    /// The sentence for a path that `absolute` refuses.
    package static func fault(_ path: String) -> String {
        path.utf8.contains(0)
            ? "the path of a file cannot hold U+0000"
            : "the path \(FieldRules.shown(path)) is relative (write an absolute path, or begin with ~/)"
    }
}
