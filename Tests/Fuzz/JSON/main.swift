// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Compares the quick ways of reading JSON with the whole ones, on generated and damaged texts: fuzz-json TEXTS SEED

import Glibc
import OutriderJSON

/// SplitMix64, so that a seed repeats a run.
struct SeededRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

/// Texts of every kind, half of them with up to three damages.
struct Texts {
    var random: SeededRandom

    private static let scalars: [[UInt8]] = [
        #""a""#, #""""#, "0", "-0", "1", "-1", "1.5", "0.0001", "0.00001", "1.50", "1e3", "-0.0", "123456789012345678",
        "1234567890123456789", "99999999999999999999", "true", "false", "null", #""\u00e9""#, #""\ud83d\ude00""#,
        #""\ud83d""#, #""é€😀""#, "\"\u{7f}\"", #""long text that goes on and on""#, #""\n\"x\\""#, "1E+5", "12.25",
    ].map { Array($0.utf8) }
    private static let names: [[UInt8]] = ["a", "b", "id", "name", "é"].map { Array($0.utf8) }
    private static let damages: [UInt8] =
        Array("{}[]\",:\\ut\r\n\t 0123456789eE+-.abcdef\u{7f}".utf8)
        + [0x00, 0x1F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xFF]

    mutating func next(_ number: Int) -> [UInt8] {
        var text: [UInt8] = []
        append(&text, depth: 1 + random.below(4))
        if number % 10 == 0 {
            let long = String(repeating: "x", count: 4080 + random.below(30))
            text = Array("[".utf8) + text + Array(",\"\(long)\"]".utf8)
        }
        if random.below(2) == 0 { for _ in 0..<random.below(4) where !text.isEmpty { damage(&text) } }
        return text
    }

    mutating func limits() -> JSONLimits {
        var limits = JSONLimits()
        if random.below(8) == 0 { limits.depth = random.below(6) }
        if random.below(4) == 0 { limits.tokens = random.below(20) }
        if random.below(4) == 0 { limits.members = random.below(6) }
        limits.hasLongIntegers = random.below(2) == 0
        return limits
    }

    private mutating func damage(_ text: inout [UInt8]) {
        let index = random.below(text.count)
        let byte = Self.damages[random.below(Self.damages.count)]
        switch random.below(5) {
        case 0: text[index] = byte
        case 1: text.remove(at: index)
        case 2: text.insert(byte, at: index)
        case 3: text.removeSubrange(index...)
        default: text.swapAt(index, random.below(text.count))
        }
    }

    private mutating func space(_ text: inout [UInt8]) {
        switch random.below(12) {
        case 0: text.append(0x20)
        case 1: text.append(0x0A)
        case 2: text += [0x09, 0x20]
        default: break
        }
    }

    private mutating func append(_ text: inout [UInt8], depth: Int) {
        space(&text)
        defer { space(&text) }
        let kind = depth == 0 ? 0 : random.below(4)
        if kind < 2 { return text += Self.scalars[random.below(Self.scalars.count)] }
        let isObject = kind == 2
        text.append(isObject ? 0x7B : 0x5B)
        space(&text)
        for index in 0..<random.below(5) {
            if index > 0 { text.append(0x2C) }
            if isObject { appendName(index, &text) }
            append(&text, depth: depth - 1)
        }
        space(&text)
        text.append(isObject ? 0x7D : 0x5D)
    }

    private mutating func appendName(_ index: Int, _ text: inout [UInt8]) {
        space(&text)
        text.append(0x22)
        text += Self.names[random.below(Self.names.count)]
        // a third without a number, so that names repeat
        if random.below(3) > 0 { text += Array(String(index).utf8) }
        text.append(0x22)
        space(&text)
        text.append(0x3A)
    }
}

/// Ends the run with the text that shows a difference.
func stop(_ difference: String, _ bytes: UnsafeBufferPointer<UInt8>) -> Never {
    print("\(difference): \(Array(bytes)) \(String(decoding: bytes, as: UTF8.self))")
    exit(1)
}

/// How many texts the quick scan accepts with each of its two settings.
func compareScans(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits) -> Int {
    var accepted = 0
    for refusesCuts in [false, true] {
        guard let quick = JSONQuickScan(bytes, limits: limits, refusesCuts: refusesCuts) else { continue }
        accepted += 1
        guard let whole = try? JSONScanner.scanWhole(bytes, limits: limits, collects: refusesCuts) else {
            stop("only the quick scan accepts", bytes)
        }
        guard whole.cuts.isEmpty, whole.members == quick.members else { stop("members or cuts differ", bytes) }
        let isPrintable = !bytes.contains { $0 < 0x20 || $0 >= 0x7F }
        guard isPrintable == quick.isPrintable else { stop("isPrintable differs", bytes) }
    }
    return accepted
}

/// Whether the text has a value.
func compareValues(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits) -> Bool {
    let quick = Result { () throws(JSONFailure) in try JSONParser.parse(bytes, limits: limits) }
    let whole = Result { () throws(JSONFailure) in try JSONParser.parseWhole(bytes, limits: limits) }
    if quick != whole { stop("values or failures differ", bytes) }
    if case .success = quick { return true }
    return false
}

let many = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 100_000
var texts = Texts(random: SeededRandom(state: CommandLine.arguments.dropFirst(2).first.flatMap { UInt64($0) } ?? 1))
var (accepted, values) = (0, 0)
for number in 0..<many {
    let text = texts.next(number)
    let limits = texts.limits()
    let (more, hasValue) = text.withUnsafeBufferPointer { (compareScans($0, limits), compareValues($0, limits)) }
    accepted += more
    values += hasValue ? 1 : 0
}
print("\(many) texts: \(values) with the same value, the others with the same failure; \(accepted) quick scans")
