// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Credentials and jars with whose end the entries of their users end: a tag that callers neither see nor write.
package enum CacheOwner {
    private static let mark = "\u{1}"

    static func tag(_ owner: String, _ secret: CacheSecret) -> String {
        let digest = secret.digest("owner \(owner)\n")
        return mark + String(digest.high, radix: 36) + "." + String(digest.low, radix: 36)
    }

    /// The tags that callers know.
    package static func shown(_ tags: [String]) -> [String] { tags.filter { !$0.hasPrefix(mark) } }
}
