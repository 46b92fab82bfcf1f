// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A block of a PEM text (RFC 7468), and its source.
package struct PEMBlock: Sendable, Hashable {
    /// `CERTIFICATE`, for instance.
    package var label: String
    /// The lines between label and data, `Proc-Type: 4,ENCRYPTED` for instance (RFC 1421).
    package var headers: [String]
    package var bytes: [UInt8]

    /// The byte order mark that some editors write in front of a file.
    package static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The blocks of a text, at most 10,000. Text between them, and blocks that cannot be read, are left out.
    package static func all(in text: String) -> [PEMBlock] { all(in: Array(text.utf8)) }

    package static func all(in text: [UInt8]) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var headers: [String] = []
        var data: [UInt8] = []
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = trimmed(line)
            if let begun = word(in: line, after: "-----BEGIN ") {
                (label, headers, data) = (begun, [], [])
            } else if let ended = word(in: line, after: "-----END ") {
                if ended == label, let bytes = Base64.decode(String(decoding: data, as: UTF8.self)), !bytes.isEmpty {
                    blocks.append(PEMBlock(label: ended, headers: headers, bytes: bytes))
                    if blocks.count >= 10_000 { return blocks }
                }
                label = nil
            } else if label != nil {
                if line.contains(UInt8(ascii: ":")) || line.contains(UInt8(ascii: ",")) {
                    headers.append(String(decoding: line, as: UTF8.self))
                } else {
                    data += line
                }
            }
        }
        return blocks
    }

    /// A certificate in DER as PEM text.
    package static func certificate(_ bytes: [UInt8]) -> String {
        var text = "-----BEGIN CERTIFICATE-----\n"
        var rest = Base64.encode(bytes)[...]
        while !rest.isEmpty {
            text += rest.prefix(64) + "\n"
            rest = rest.dropFirst(64)
        }
        return text + "-----END CERTIFICATE-----\n"
    }

    /// Without a mark and white space around the line.
    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = line.dropFirst(line.starts(with: mark) ? mark.count : 0).drop { $0 == 0x20 || $0 == 0x09 }
        guard let last = start.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        return start[...last]
    }

    private static func word(in line: ArraySlice<UInt8>, after start: String) -> String? {
        guard line.starts(with: start.utf8), line.suffix(5).elementsEqual("-----".utf8) else { return nil }
        let rest = line.dropFirst(start.utf8.count)
        return rest.count > 5 ? String(decoding: rest.dropLast(5), as: UTF8.self) : nil
    }
}
