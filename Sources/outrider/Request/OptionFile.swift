// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The file of `-K`, in the format of curl: an option on each line, with or without its hyphens.
enum OptionFile {
    struct Line {
        let number: Int
        /// With its hyphens.
        let option: String
        /// Nil for an option alone.
        let value: String?
    }

    /// The options of a file, or of standard input for `-`.
    static func lines(_ name: String) throws(CommandFailure) -> [Line] {
        let text = try StandardInput.text(of: name)
        var lines: [Line] = []
        for (index, bytes) in text.utf8.split(separator: newline, omittingEmptySubsequences: false).enumerated() {
            var rest = bytes.drop(while: isSpace)
            // curl leaves out what begins with a slash or an asterisk, too
            guard let first = rest.first, !"#/*".utf8.contains(first) else { continue }
            let hasHyphen = first == UInt8(ascii: "-")
            let isSeparator = { (byte: UInt8) in isSpace(byte) || !hasHyphen && "=:".utf8.contains(byte) }
            let option = rest.prefix { !isSeparator($0) }
            rest = rest.dropFirst(option.count).drop(while: isSeparator)
            let isQuoted = rest.first == UInt8(ascii: "\"")
            let value = isQuoted ? unquoted(rest.dropFirst()) : String(Substring(rest.prefix { !isSpace($0) }))
            if !isQuoted, let next = rest.dropFirst(value.utf8.count).first(where: { !isSpace($0) }),
                next != UInt8(ascii: "#")
            {
                throw CommandFailure(.usage, "line \(index + 1) of \(name): a value with spaces needs quotes")
            }
            lines.append(
                Line(
                    number: index + 1, option: (hasHyphen ? "" : "--") + String(Substring(option)),
                    value: isQuoted || !value.isEmpty ? value : nil))
        }
        return lines
    }

    private static let newline = UInt8(ascii: "\n")

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

    /// The text up to the quote that ends it, without its backslashes.
    private static func unquoted(_ text: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\"), let next = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch next {
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "v"): bytes.append(11)
            case UInt8(ascii: "r"): bytes.append(13)
            default: bytes.append(next)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
