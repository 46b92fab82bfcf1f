// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Reason phrases and values that the server sent, however its bytes arrive.
struct HeadTextsTests {
    private static func phrases(_ bytes: [UInt8], step: Int) -> [String] {
        var reader = HeadTexts()
        for start in stride(from: 0, to: bytes.count, by: step) {
            reader.feed(bytes[start..<min(bytes.count, start + step)])
        }
        var found: [String] = []
        while let next = reader.next() { found.append(next.phrase) }
        return found
    }

    @Test(arguments: [
        ("HTTP/1.1 200 Fine\r\nA: b\r\n\r\nHTTP/1.1 500 Body\r\n\r\n", ["Fine"]),
        ("HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 404 No such page\r\n\r\nhello\n\n", ["Hints", "No such page"]),
        ("HTTP/1.1 101 Switch\r\n\r\n\u{81}\u{5}", ["Switch"]), ("HTTP/1.1 200\r\n\r\n", [""]),
        ("HTTP/1.1 200 \r\n\r\n", [""]), ("HTTP/1.1 200 OK\nA: b\n\nx", ["OK"]),
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", ["OK"]),
        ("HTTP/1.1 200 caf\u{E9}\r\n\r\n", ["caf\u{E9}"]), ("HTTP/1.1 200 O", []), ("", []),
    ])
    func `each head has its phrase`(_ text: String, _ phrases: [String]) {
        let bytes = Array(text.utf8)
        for step in 1...max(1, bytes.count) { #expect(Self.phrases(bytes, step: step) == phrases, "\(step)") }
    }

    @Test func `values that are not UTF-8 are ISO 8859-1, and the others stay`() {
        let lines: [[UInt8]] = [
            Array("HTTP/1.1 103 Hints\r\nA: caf".utf8), [0xE9], Array("\r\n\r\n".utf8),
            Array("HTTP/1.1 302 Found\r\nA: \u{FFFD}\r\nA:\t ".utf8),
            [0xC3, 0xA9, 0x20], Array("\r\nA: ".utf8), [0xFF, 0x80], Array(" \r\nlocation: /".utf8), [0xE9],
            Array("?a\r\nA: b\r\n\r\nB: ".utf8), [0xE9],
        ]
        let bytes = Array(lines.joined())
        for step in 1...bytes.count {
            var reader = HeadTexts()
            for start in stride(from: 0, to: bytes.count, by: step) {
                reader.feed(bytes[start..<min(bytes.count, start + step)])
            }
            var hints: HTTPFields = [.init("A", "caf\u{FFFD}")]
            reader.next()?.correct(&hints)
            #expect(hints == [.init("A", "caf\u{E9}")])
            let others = ["\u{FFFD}", "\u{E9}", "\u{FFFD}\u{FFFD}"].map { HTTPFields.Field("A", $0) }
            var fields = HTTPFields(others + [.init("location", "/\u{FFFD}?a"), .init("A", "b")])
            reader.next()?.correct(&fields)
            let values = fields.list.map(\.value)
            #expect(values == ["\u{FFFD}", "\u{E9}", "\u{FF}\u{80}", "/%E9?a", "b"], "\(step)")
        }
    }

    @Test func `a phrase in ISO 8859-1 is read as such, and a long one is cut`() {
        let latin = Array("HTTP/1.1 200 D".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        #expect(Self.phrases(latin, step: 5) == ["D\u{E9}"])
        let long = Array("HTTP/1.1 200 \(String(repeating: "a", count: 5000))\r\n\r\n".utf8)
        #expect(Self.phrases(long, step: 100).first?.count == 1024 - 13)
    }
}
