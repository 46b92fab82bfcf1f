// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// A property list as XML, by Apple's DTD "PLIST 1.0".
struct XMLPropertyListWriter {
    private var out: [UInt8] = []
    private var depth = 0

    private static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    mutating func document(_ list: PropertyList) throws(JSONComplaint) -> [UInt8] {
        out += Self.head.utf8
        try write(list)
        out += "</plist>\n".utf8
        return out
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private mutating func write(_ value: PropertyList) throws(JSONComplaint) {
        switch value {
        case .bool(let flag): line(flag ? "<true/>" : "<false/>")
        case .integer(let number): line("<integer>\(number)</integer>")
        case .unsigned(let number): line("<integer>\(number)</integer>")
        case .real(let number): line("<real>\(number)</real>")
        case .string(let text): line("<string>\(try Self.escaped(text))</string>")
        case .data(let bytes): line("<data>\(Base64.encode(bytes))</data>")
        case .date(let moment): line("<date>\(moment.iso8601)</date>")
        case .array(let values):
            if values.isEmpty { return line("<array/>") }
            line("<array>")
            depth += 1
            for (index, value) in values.enumerated() {
                do throws(JSONComplaint) {
                    try write(value)
                } catch {
                    throw error.under(index: index)
                }
            }
            depth -= 1
            line("</array>")
        case .dictionary(let entries): try write(entries)
        }
    }

    private mutating func write(_ entries: [PropertyList.Entry]) throws(JSONComplaint) {
        if entries.isEmpty { return line("<dict/>") }
        line("<dict>")
        depth += 1
        for entry in entries {
            do throws(JSONComplaint) {
                line("<key>\(try Self.escaped(entry.key))</key>")
                try write(entry.value)
            } catch {
                throw error.under(member: entry.key)
            }
        }
        depth -= 1
        line("</dict>")
    }

    private mutating func line(_ text: String) {
        out.append(contentsOf: repeatElement(0x09, count: depth))
        out += text.utf8
        out.append(0x0A)
    }

    /// Escapes text; refuses characters that XML 1.0 excludes (section 2.2). A carriage return is written as a
    /// reference, since parsers would turn it into a line feed.
    private static func escaped(_ text: String) throws(JSONComplaint) -> String {
        // to append several scalars to their view would copy all that is there
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\r": escaped += "&#13;"
            case "\t", "\n": escaped.unicodeScalars.append(scalar)
            default:
                if scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF {
                    let shown = String(scalar.value, radix: 16, uppercase: true)
                    throw JSONComplaint("XML cannot hold the character U+\(shown): use the binary format, or $data")
                }
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
