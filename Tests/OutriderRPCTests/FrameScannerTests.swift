// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Testing

struct FrameScannerTests {
    static let samples: [(text: String, seen: [Seen])] = [
        ("{\"a\":1}\n[1]\r\n\n  \n{}\n", [.frame("{\"a\":1}"), .frame("[1]"), .frame("{}")]),
        ("{\"a\":1}\n{\"unfinished\":", [.frame("{\"a\":1}"), .frame("{\"unfinished\":")]),
        ("\u{FEFF} \t\r\n{}\n5\n", [.frame("{}"), .frame("5")]),
        (frame("{}") + frame("[\n\n]") + frame(""), [.frame("{}"), .frame("[\n\n]"), .frame("")]),
        ("\r\n\n" + frame("{}") + "\r\n\r\n" + frame("[1]"), [.frame("{}"), .frame("[1]")]),
        ("content-LENGTH:2\n\n{}", [.frame("{}")]),
        ("Content-Type: a/b; charset=\"UTF-8\"; x=y\r\nX: y\r\nContent-Length:  2 \r\n\r\n{}", [.frame("{}")]),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", [.frame("{}")]),
        ("Content-Length: 9\r\n\r\n{\"id\":1", [.cut("{\"id\":1")]),
        ("GET / HTTP/1.1\r\n\r\n", [.http]),
        ("POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", [.http]),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [.http]),
        ("GETTING / x", [.broken]),
        ("get / HTTP/1.1", [.broken]),
        ("\"hello\"\n", [.broken]),
        ("12345678\n", [.broken]),
        ("\u{1}\u{2}", [.broken]),
        ("X", [.broken]),
        ("", []),
        (" \n", []),
        ("X: y\r\n\r\n", [.broken]),
        ("Content-Length: -5\r\n\r\n", [.broken]),
        ("Content-Length: \r\n\r\n", [.broken]),
        ("Content-Length: abc\r\n\r\n", [.broken]),
        ("Content-Length: 1234567890123456\r\n\r\n", [.broken]),
        ("Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", [.broken]),
        ("Content-Length: 2\r\nno colon\r\n\r\n{}", [.broken]),
        ("Content-Length: 2\r\nContent-Type: text/plain; charset=utf-16\r\n\r\n{}", [.broken]),
        ("Content-Length: 2\r\n", [.broken]),
    ]

    @Test(arguments: samples.indices)
    func `the first bytes decide, and frames are found`(_ index: Int) {
        let (text, expected) = Self.samples[index]
        #expect(Feeder.seen(text) == expected, "\(text.debugDescription)")
    }

    @Test(arguments: samples.indices)
    func `it does not matter how the bytes arrive`(_ index: Int) {
        let (text, expected) = Self.samples[index]
        let bytes = Array(text.utf8)
        #expect(Feeder.seen(bytes.map { [$0] }) == expected, "byte by byte: \(text.debugDescription)")
        for cut in 0...bytes.count {
            let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
            #expect(Feeder.seen(pieces) == expected, "cut at \(cut): \(text.debugDescription)")
        }
    }

    @Test func `random cuts change nothing`() {
        var random = SystemRandomNumberGenerator()
        let text = (0..<40).map { frame(String(repeating: "x", count: $0 * 7)) }.joined()
        let bytes = Array(text.utf8)
        let expected = Feeder.seen([bytes])
        #expect(expected.count == 40)
        for _ in 0..<50 {
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...200, using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(Feeder.seen(pieces) == expected)
        }
    }

    @Test func `every prefix of a sample ends without a trap`() {
        for (text, _) in Self.samples {
            let bytes = Array(text.utf8)
            for count in 0...bytes.count {
                #expect(Feeder.seen([Array(bytes[..<count])]).count <= 3)
            }
        }
    }

    @Test func `the framing is known once it is detected, or forced`() {
        #expect(Feeder.seen("5\n", forced: .line) == [.frame("5")])
        #expect(Feeder.seen("{}\n", forced: .header) == [.broken])
        var scanner = FrameScanner()
        #expect(scanner.framing == nil)
        _ = Array("Conte".utf8).withUnsafeBufferPointer { scanner.next($0) }
        #expect(scanner.framing == nil)
        _ = Array("Content-Length:".utf8).withUnsafeBufferPointer { scanner.next($0) }
        #expect(scanner.framing == .header)
        #expect(FrameScanner(forced: .line).framing == .line)
    }

    @Test func `a first word without end is given up`() {
        var feeder = Feeder(FrameScanner())
        for _ in 0..<1000 { feeder.feed("xxxxxxxxxx".utf8) }
        #expect(feeder.seen == [.broken])
    }

    @Test(
        arguments: [
            [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], [0x20, 0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xBF, 0x0A],
        ] as [[UInt8]])
    func `a byte order mark stands at the beginning only, however the bytes are cut`(_ start: [UInt8]) {
        let text = start + Array("{}\n".utf8)
        let whole = Feeder.seen([text])
        #expect(whole == (start.last == 0x0A ? [.frame("{}")] : [.broken]))
        for cut in 1..<text.count { #expect(Feeder.seen([Array(text[..<cut]), Array(text[cut...])]) == whole) }
    }
}
