// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// Reason phrases that the server sent, however its bytes arrive.
struct ReasonPhrasesTests {
    private static func phrases(_ bytes: [UInt8], step: Int) -> [String] {
        var reader = ReasonPhrases()
        for start in stride(from: 0, to: bytes.count, by: step) {
            reader.feed(bytes[start..<min(bytes.count, start + step)])
        }
        var found: [String] = []
        while let next = reader.next() { found.append(next) }
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

    @Test func `a phrase in ISO 8859-1 is read as such, and a long one is cut`() {
        let latin = Array("HTTP/1.1 200 D".utf8) + [0xE9] + Array("\r\n\r\n".utf8)
        #expect(Self.phrases(latin, step: 5) == ["D\u{E9}"])
        let long = Array("HTTP/1.1 200 \(String(repeating: "a", count: 5000))\r\n\r\n".utf8)
        #expect(Self.phrases(long, step: 100).first?.count == 1024 - 13)
    }
}
