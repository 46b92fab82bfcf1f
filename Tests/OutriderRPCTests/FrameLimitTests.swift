// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Testing

struct FrameLimitTests {
    private var limits: FrameLimits {
        var limits = FrameLimits()
        limits.message = 10_000
        return limits
    }

    private let start = "{\"id\":7,\"method\":\"x\",\"params\":\""

    @Test(arguments: [1, 100, 4096, 100_000])
    func `a line that is too long shows its first four kilobytes, and the next line is read`(_ piece: Int) {
        let long = start + String(repeating: "y", count: 20_000) + "\"}"
        let text = Array("{}\n\(long)\n[1]\n".utf8)
        var feeder = Feeder(FrameScanner(limits: limits))
        for index in stride(from: 0, to: text.count, by: piece) {
            feeder.feed(text[index..<min(index + piece, text.count)])
        }
        feeder.feed([], ended: true)
        #expect(feeder.seen == [.frame("{}"), .tooLong(String(long.prefix(4096))), .frame("[1]")])
    }

    @Test func `a line that is too long is not kept`() {
        var feeder = Feeder(FrameScanner(limits: limits))
        feeder.feed(start.utf8)
        for _ in 0..<200 { feeder.feed(repeatElement(UInt8(ascii: "y"), count: 1000)) }
        #expect(feeder.most < 12_000)
        #expect(feeder.seen.count == 1)
        feeder.feed("\"}\n{}\n".utf8)
        #expect(feeder.seen.last == .frame("{}"))
    }

    @Test func `a line of exactly the limit is a frame, one byte more is not`() {
        let fits = "[" + String(repeating: " ", count: 9_998) + "]"
        #expect(Feeder.seen(fits + "\n", limits: limits) == [.frame(fits)])
        let over = "[" + String(repeating: " ", count: 9_999) + "]"
        #expect(Feeder.seen(over + "\n{}", limits: limits) == [.tooLong(String(over.prefix(4096))), .frame("{}")])
    }

    @Test(arguments: [1, 100, 4096, 100_000])
    func `a frame that is too long is skipped, and the next one is read`(_ piece: Int) {
        let long = start + String(repeating: "y", count: 20_000) + "\"}"
        let text = Array((frame("{}") + frame(long) + frame("[1]")).utf8)
        var feeder = Feeder(FrameScanner(limits: limits))
        for index in stride(from: 0, to: text.count, by: piece) {
            feeder.feed(text[index..<min(index + piece, text.count)])
        }
        #expect(feeder.seen == [.frame("{}"), .tooLong(String(long.prefix(4096))), .frame("[1]")])
        if piece < 4096 { #expect(feeder.most <= 4096 + piece) }
    }

    @Test(arguments: Framing.allCases, [0, 1000, 7000])
    func `a refused frame is skipped, and the next one is read`(_ framing: Framing, _ early: Int) {
        let long = start + String(repeating: "y", count: 8000) + "\"}"
        func framed(_ text: String) -> String { framing == .line ? text + "\n" : frame(text) }
        var feeder = Feeder(FrameScanner(limits: limits))
        let text = Array(framed(long).utf8)
        let before = text.count - 8000 + early
        feeder.feed(Array(framed("{}").utf8) + text[..<before])
        #expect(feeder.seen == [.frame("{}")])
        feeder.refuse()
        for byte in text[before...] { feeder.feed([byte]) }
        feeder.feed(framed("[1]").utf8)
        guard feeder.seen.count == 3, case .refused(let shown) = feeder.seen[1] else {
            return #expect(Bool(false), "\(feeder.seen)")
        }
        #expect(long.hasPrefix(shown) && shown.utf8.count >= min(start.utf8.count, 4096) && shown.utf8.count <= 4096)
        #expect(feeder.seen[0] == .frame("{}") && feeder.seen[2] == .frame("[1]"))
    }

    @Test func `a refused line that is here as a whole is skipped, and one between frames is none`() {
        var feeder = Feeder(FrameScanner(limits: limits))
        feeder.feed("{\"a\":".utf8)
        feeder.refuse()
        feeder.feed("1}\n{}\n".utf8)
        #expect(feeder.seen == [.refused("{\"a\":1}"), .frame("{}")])
        var headers = Feeder(FrameScanner(limits: limits))
        headers.feed(frame("{}").utf8)
        headers.refuse()
        headers.feed(frame("[1]").utf8)
        #expect(headers.seen == [.frame("{}"), .frame("[1]")])
    }

    @Test func `the longest possible length is waited for without memory`() {
        var feeder = Feeder(FrameScanner(limits: limits))
        feeder.feed("Content-Length: 999999999999999\r\n\r\n{\"id\":1}".utf8)
        #expect(feeder.seen.isEmpty)
        for _ in 0..<100 { feeder.feed(repeatElement(UInt8(ascii: " "), count: 1000)) }
        #expect(feeder.seen.count == 1)
        #expect(feeder.most < 6000)
    }

    @Test(arguments: ["\n", "\r\n", " \n", "  \r\n"], [9_998, 9_999, 10_000])
    func `a line at the limit is the same in pieces`(_ end: String, _ size: Int) {
        let text = Array(("[" + String(repeating: "1", count: size - 2) + "]" + end + "{}\n").utf8)
        let whole = Feeder.seen([text], limits: limits)
        #expect(whole.last == .frame("{}"))
        for cut in (size - 1)..<text.count {
            let pieces = Feeder.seen([Array(text[..<cut]), Array(text[cut...])], limits: limits)
            #expect(pieces == whole, "cut at \(cut)")
        }
    }

    @Test func `blank lines that are too long are the same in pieces`() {
        let text = Array((String(repeating: " ", count: 10_001) + "\n{}\n").utf8)
        let whole = Feeder.seen([text], limits: limits, forced: .line)
        #expect(whole.last == .frame("{}"))
        #expect(Feeder.seen([Array(text[..<10_001]), Array(text[10_001...])], limits: limits, forced: .line) == whole)
    }

    @Test(arguments: [39, 40, 41])
    func `a header block at the limit is the same in pieces`(_ size: Int) {
        var limits = FrameLimits()
        limits.header = 40
        let fields = "Content-Length: 2\r\n"
        let block = fields + "X: " + String(repeating: "y", count: size - fields.utf8.count - 5) + "\r\n"
        let text = Array((block + "\r\n{}").utf8)
        let whole = Feeder.seen([text], limits: limits)
        #expect(whole == (size <= 40 ? [.frame("{}")] : [.broken]))
        #expect(Feeder.seen(text.map { [$0] }, limits: limits) == whole)
    }

    @Test func `a header block without end is given up`() {
        var feeder = Feeder(FrameScanner())
        feeder.feed("X: ".utf8)
        for _ in 0..<900 { feeder.feed("yyyyyyyyyy".utf8) }
        #expect(feeder.seen == [.broken])
        #expect(Feeder.seen(String(repeating: "X: y\r\n", count: 2000)) == [.broken])
        #expect(
            Feeder.seen("X: " + String(repeating: "y", count: 9000) + "\r\nContent-Length: 2\r\n\r\n{}") == [.broken])
    }

    @Test func `single bytes cost no more than the sum of them`() {
        // Finding the end must not begin at the front again with each byte: that took minutes for a megabyte.
        let clock = ContinuousClock()
        let line = Array((start + String(repeating: "y", count: 100_000) + "\"}\n").utf8)
        var scanner = LineScanner()
        var held: [UInt8] = []
        held.reserveCapacity(line.count)
        var frames = 0
        let time = clock.measure {
            for byte in line {
                held.append(byte)
                if case .frame = held.withUnsafeBufferPointer({ scanner.next($0, ended: false) }) { frames += 1 }
            }
        }
        #expect(frames == 1)
        #expect(time < .seconds(3))
    }
}
