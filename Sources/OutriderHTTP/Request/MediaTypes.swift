// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The media type for a file name.
package enum MediaTypes {
    /// The type of unknown files: bytes.
    package static let unknown = "application/octet-stream"

    /// The type for the last extension of the name, without regard to case; `archive.tar.gz` is a gzip file.
    package static func type(ofFileNamed name: String) -> String {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return unknown }
        let ending = bytes[bytes.index(after: dot)...]
        guard (1...12).contains(ending.count) else { return unknown }
        return byEnding[Substring(ending).lowercased()] ?? unknown
    }

    private static let byEnding: [String: String] = {
        var types: [String: String] = [:]
        for line in MediaTypeTable.lines.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let type = words.first else { continue }
            for ending in words.dropFirst() { types[String(ending)] = String(type) }
        }
        return types
    }()
}
