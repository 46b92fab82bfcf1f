// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

/// The quick scan beside the whole one, on generated and damaged texts.
@Suite struct QuickScanTests {
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func `the quick scan accepts what the whole scan accepts, and no more`(seed: UInt64) throws {
        var texts = DamagedTexts(random: SeededRandom(seed: seed))
        var accepted = 0
        for _ in 0..<5000 {
            let (text, limits) = texts.next()
            try text.withUnsafeBufferPointer { bytes in
                for refusesCuts in [false, true] {
                    let quick = JSONQuickScan(bytes, limits: limits, refusesCuts: refusesCuts)
                    guard let quick else { continue }
                    accepted += 1
                    let whole = try JSONScanner.scanWhole(bytes, limits: limits, collects: refusesCuts)
                    #expect(whole.cuts.isEmpty && whole.members == quick.members, "\(text)")
                    #expect(quick.isPrintable == !bytes.contains { $0 < 0x20 || $0 >= 0x7F }, "\(text)")
                }
            }
        }
        #expect(accepted > 1000)
    }

    @Test(arguments: [
        #"{"a":[1,-2.5e3,true,false,null,"é€😀"],"b":{}}"#, #"[[],{},[[{"a":"\u00e9\ud83d\ude00\n"}]]]"#,
        " [ 1 , 2 ]\r\n", "[0.5,-0,1E+2]", "{\"\u{7f}\":1}",
    ])
    func `a text of the usual form passes through the quick scan`(text: String) {
        utf8(text).withUnsafeBufferPointer { bytes in
            #expect(JSONQuickScan(bytes, limits: JSONLimits(), refusesCuts: false) != nil)
        }
    }

    /// Sixteen bytes are looked at at a time, but for the last of a text.
    @Test(arguments: [0x00, 0x1F, 0x20, 0x22, 0x5C, 0x7E, 0x7F, 0x80, 0xE9, 0xFF] as [UInt8])
    func `a byte is seen wherever it stands in a string`(byte: UInt8) {
        for length in 1...40 {
            for place in 0..<length {
                var text = utf8("[\"" + String(repeating: "a", count: length) + "\"]")
                text[2 + place] = byte
                let isAccepted = (try? text.withUnsafeBufferPointer { try JSONScanner.check($0) }) != nil
                #expect(isAccepted == [0x20, 0x7E, 0x7F].contains(byte), "\(text)")
                let quick = text.withUnsafeBufferPointer {
                    JSONQuickScan($0, limits: JSONLimits(), refusesCuts: false)
                }
                #expect(quick.map(\.isPrintable) == (isAccepted ? byte < 0x7F : nil), "\(text)")
            }
        }
    }

    @Test func `every prefix of a text is refused`() {
        let bytes = utf8(#"{"a":[1,"\u00e9é",{"b":true}],"c":-1.5}"#)
        for length in 0..<bytes.count {
            // a copy of its own, so that a read beyond its end is seen by tools that look for them
            let prefix = Array(bytes[..<length])
            prefix.withUnsafeBufferPointer { prefix in
                #expect(JSONQuickScan(prefix, limits: JSONLimits(), refusesCuts: false) == nil)
            }
        }
    }
}

/// Texts of every kind, two of three with up to three damages, and limits that some of them exceed.
private struct DamagedTexts {
    var random: SeededRandom

    private static let scalars = [
        #""a""#, #""""#, "0", "-0", "1", "-1", "1.5", "0.0001", "0.00001", "1.50", "1e3", "-0.0", "123456789012345678",
        "1234567890123456789", "99999999999999999999", "true", "false", "null", #""\u00e9""#, #""\ud83d\ude00""#,
        #""\ud83d""#, #""é€😀""#, "\"\u{7f}\"", #""long text that goes on and on""#, #""\n\"x\\""#, "1E+5", "12.25",
    ].map(utf8)
    private static let damages = utf8("{}[]\",:\\ut\r\n\t 019eE+-.abc\u{7f}") + [0, 0x80, 0xC2, 0xE0, 0xED, 0xF4, 0xFF]
    private static let spaces: [[UInt8]] = [[0x20], [0x0A], [0x09, 0x20], [], [], [], [], [], [], []]

    mutating func next() -> (text: [UInt8], limits: JSONLimits) {
        var text = value(depth: Int.random(in: 1...4, using: &random))
        if Int.random(in: 0..<3, using: &random) > 0 {
            for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty { damage(&text) }
        }
        var limits = JSONLimits()
        let low = { (random: inout SeededRandom) in Int.random(in: 0..<4, using: &random) == 0 }
        if low(&random) { limits.depth = Int.random(in: 0..<6, using: &random) }
        if low(&random) { limits.tokens = Int.random(in: 0..<20, using: &random) }
        if low(&random) { limits.members = Int.random(in: 0..<6, using: &random) }
        limits.hasLongIntegers = Bool.random(using: &random)
        return (text, limits)
    }

    private mutating func damage(_ text: inout [UInt8]) {
        let index = Int.random(in: 0..<text.count, using: &random)
        let byte = Self.damages.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text[index] = byte
        case 1: text.remove(at: index)
        case 2: text.insert(byte, at: index)
        default: text.removeSubrange(index...)
        }
    }

    private mutating func space() -> [UInt8] { Self.spaces.randomElement(using: &random) ?? [] }

    private mutating func value(depth: Int) -> [UInt8] {
        let kind = depth == 0 ? 0 : Int.random(in: 0..<4, using: &random)
        if kind < 2 { return space() + (Self.scalars.randomElement(using: &random) ?? []) + space() }
        let isObject = kind == 2
        var text = space() + [isObject ? 0x7B : 0x5B] + space()
        for index in 0..<Int.random(in: 0..<5, using: &random) {
            if index > 0 { text.append(0x2C) }
            if isObject { text += space() + utf8("\"n\(index)\"") + space() + [0x3A] }
            text += value(depth: depth - 1)
        }
        return text + space() + [isObject ? 0x7D : 0x5D] + space()
    }
}
