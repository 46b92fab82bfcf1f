// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The names of a download's hidden files, beside the final file. Derived from its name alone, so that the next
/// download to the same destination finds them.
package enum PartialName {
    private static let partialEnding = ".outrider-part"
    private static let journalEnding = ".outrider-journal"
    /// Longer names are cut, so that the hidden names fit a file system.
    private static let mostBytes = 200

    /// The file with the received bytes.
    package static func partial(of name: String) -> String { hidden(name) + partialEnding }

    /// Whether the name is that of a partial file; resume data never leads to writes to any other file.
    package static func isPartial(_ name: String) -> Bool {
        name.hasPrefix(".") && name.hasSuffix(partialEnding) && name.utf8.count > 1 + partialEnding.utf8.count
            && !name.utf8.contains(UInt8(ascii: "/"))
    }

    /// The journal beside a partial file.
    package static func journal(beside partial: String) -> String {
        String(partial.dropLast(partialEnding.count)) + journalEnding
    }

    private static func hidden(_ name: String) -> String {
        guard name.utf8.count > mostBytes else { return "." + name }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        var stem = ""
        for scalar in name.unicodeScalars {
            guard stem.utf8.count &+ UTF8.width(scalar) <= mostBytes &- 20 else { break }
            stem.unicodeScalars.append(scalar)
        }
        return ".\(stem)-\(String(hash, radix: 16))"
    }
}
