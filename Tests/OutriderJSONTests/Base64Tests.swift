// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct Base64Tests {
    /// RFC 4648 section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the samples of the standard`(plain: String, encoded: String) {
        #expect(Base64.encode(utf8(plain)) == encoded)
        #expect(Base64.decode(encoded) == utf8(plain))
        let bare = String(encoded.prefix { $0 != "=" })
        #expect(Base64.decode(bare) == utf8(plain))
    }

    @Test(arguments: [
        "Z", "Zg=", "Zg===", "Z===", "=", "==", "====", "Zm9v=", "Zm9v====", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zm-v",
        "Zm_v", "Zm9v!",
        "Zm9v\u{0}", "Zm\u{e9}v", "=Zm9", "Z=m9",
    ])
    func `anything else is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func `all bytes at all lengths come back`() {
        var random = SeededRandom(seed: 51)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = Base64.encode(bytes)
            #expect(text.utf8.count == (length + 2) / 3 * 4)
            #expect(Base64.decode(text) == bytes)
            var writer = JSONWriter()
            bytes.withUnsafeBytes { writer.base64($0) }
            #expect(writer.bytes == utf8("\"\(text)\""))
        }
    }

    @Test func `every group of twelve bits is right`() {
        for high in UInt8(0)...255 {
            for low in stride(from: UInt8(0), through: 240, by: 16) {
                #expect(Base64.decode(Base64.encode([high, low, high])) == [high, low, high])
            }
        }
    }
}
