// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

struct PrintableTextTests {
    @Test(arguments: [
        ("plain", "plain"), ("größer 漢字 🎉", "größer 漢字 🎉"), ("", ""),
        ("a\u{1B}[2Jb", "a\\u{1b}[2Jb"), ("a\u{9B}31mb", "a\\u{9b}31mb"), ("a\u{7}b\u{7F}", "a\\u{7}b\\u{7f}"),
        ("a\nb\r\nc\td", "a b  c d"), ("a\0b", "a\\u{0}b"), ("a\u{2028}b", "a b"),
        ("gpj.\u{202E}exe", "gpj.\\u{202e}exe"),
        ("\u{2066}x\u{2069}\u{61C}\u{200F}", "\\u{2066}x\\u{2069}\\u{61c}\\u{200f}"),
    ])
    func `controls are escaped, and nothing else`(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    @Test func `no control of any kind is left`() {
        for value in UInt32(0)...0x3000 {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect(!String(scalar).printable.unicodeScalars.contains { $0.isControl })
        }
    }
}
