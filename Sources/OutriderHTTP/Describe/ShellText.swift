// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Words and bytes as a POSIX shell reads them (POSIX.1-2017, Shell Command Language, section 2.2).
package enum ShellText {
    /// A string as a single word. Quotes are added only where needed; within quotes only the quote itself is special.
    package static func quoted(_ text: String) -> String {
        let plain =
            !text.isEmpty && text.utf8.allSatisfy { PercentEncoding.segment.keeps($0) && $0 != UInt8(ascii: "~") }
        return plain ? text : "'" + escaped(text.utf8) { _ in nil } + "'"
    }

    /// A word that is safe to paste into a terminal, where a tab would complete and other control characters would do
    /// worse: such text goes through printf. The text must not end in a line break.
    static func pasted(_ text: String) -> String {
        text.utf8.contains { $0 < 0x20 && $0 != 0x0A || $0 == 0x7F } ? "\"$(\(printf(text.utf8)))\"" : quoted(text)
    }

    /// A command that prints the bytes, whatever they are.
    static func printf(_ bytes: some Sequence<UInt8>) -> String {
        "printf '"
            + escaped(bytes) { byte in
                switch byte {
                case UInt8(ascii: "%"): "%%"
                case UInt8(ascii: "\\"): #"\\"#
                case 0x0A: #"\n"#
                case 0x0D: #"\r"#
                case 0x09: #"\t"#
                // at the beginning, a hyphen would be an option
                case UInt8(ascii: "-"): octal(byte)
                case 0x20...0x7E: nil
                default: octal(byte)
                }
            } + "'"
    }

    private static func escaped(_ bytes: some Sequence<UInt8>, _ escape: (UInt8) -> String?) -> String {
        var out: [UInt8] = []
        for byte in bytes {
            if byte == UInt8(ascii: "'") {
                out += #"'\''"#.utf8
            } else if let escaped = escape(byte) {
                out += escaped.utf8
            } else {
                out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Three digits, so that a digit may follow.
    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
