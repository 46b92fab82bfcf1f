// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Unicode.Scalar {
    /// Whether a terminal or viewer could interpret the scalar as a command: the control characters C0, DEL and C1, and
    /// the controls of the direction of text (Unicode Standard Annex #9, section 2).
    package var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0: true
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The text as a single line that is safe to display: line breaks and tabs become spaces, other controls `\u{1b}`
    /// and the like.
    package var printable: String {
        // most texts are ASCII without controls, and stay unchanged
        if utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return self }
        var text = ""
        text.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D, 0x2028, 0x2029: text += " "
            case _ where scalar.isControl: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
