// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct TextEncodingTests {
    private static func encode(_ text: String, _ charset: String) throws(HTTPFailure) -> [UInt8] {
        try TextEncoding.encode(text, charset: charset, textPointer: "/text", charsetPointer: "/charset")
    }

    @Test(arguments: [
        ("é", "utf-8", [0xC3, 0xA9]), ("é", "latin1", [0xE9]), ("€", "windows-1252", [0x80]),
        ("Ж", "windows-1251", [0xC6]), ("Ж", "koi8-r", [0xF6]), ("a€", "iso-8859-15", [0x61, 0xA4]),
        ("é", "utf-16", [0xE9, 0x00]), ("é", "utf-16be", [0x00, 0xE9]), ("𐐷", "utf-16le", [0x01, 0xD8, 0x37, 0xDC]),
        ("az", "us-ascii", [0x61, 0x7A]), ("", "koi8-r", []), ("😀", "utf-32", [0x00, 0xF6, 0x01, 0x00]),
        ("😀", "utf-32be", [0x00, 0x01, 0xF6, 0x00]),
    ])
    func `text is sent in the usual charsets of the web`(text: String, charset: String, bytes: [UInt8]) throws {
        #expect(try Self.encode(text, charset) == bytes)
    }

    @Test(arguments: [("é", "us-ascii"), ("€", "iso-8859-1"), ("日", "windows-1252"), ("\u{81}", "us-ascii")])
    func `a character that a charset does not have is never replaced`(text: String, charset: String) {
        let failure = #expect(throws: HTTPFailure.self) { try Self.encode(text, charset) }
        #expect(failure?.kind == .parameterEncoderFailed && failure?.pointer == "/text")
    }

    @Test func `an unknown charset is refused`() {
        let failure = #expect(throws: HTTPFailure.self) { try Self.encode("a", "utf-9") }
        #expect(failure?.pointer == "/charset")
    }

    @Test(arguments: Charset.allCases)
    func `what is encoded reads back as it was`(charset: Charset) throws {
        guard let bytes = try? Self.encode("az~", charset.name) else { return }
        #expect(TextDecoding.decode(bytes, wanted: charset.name)?.text == "az~")
        for byte in UInt8(0x80)...0xFF {
            guard let text = TextDecoding.decode([byte], wanted: charset.name)?.text,
                let again = try? Self.encode(text, charset.name)
            else { continue }
            #expect(TextDecoding.decode(again, wanted: charset.name)?.text == text)
        }
    }
}
