// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Random numbers that are the same in every run (SplitMix64), so that a failure can be repeated.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Makes values of every kind, often at the edges.
struct RandomValues {
    var random: SeededRandom

    mutating func value(depth: Int = 4) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .integer(integer())
        case 3: .real(real())
        case 4, 5: .string(text())
        case 6: .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth: depth - 1) })
        default: .object(object(depth: depth - 1))
        }
    }

    private mutating func integer() -> Int64 {
        let edges: [Int64] = [0, 1, -1, 9, 10, .max, .min, 1 << 53, -(1 << 53) - 1]
        if Bool.random(using: &random) { return edges.randomElement(using: &random) ?? 0 }
        return Int64.random(in: .min ... .max, using: &random)
    }

    private mutating func real() -> Double {
        let edges = [0.0, -0.0, 0.1, 1.0, 1e15, 1e16, 1e21, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -2.5]
        if Bool.random(using: &random) { return edges.randomElement(using: &random) ?? 0 }
        let number = Double(bitPattern: UInt64.random(in: .min ... .max, using: &random))
        return number.isFinite ? number : 0.5
    }

    mutating func text() -> String {
        let ranges: [ClosedRange<UInt32>] = [0...0x1F, 0x20...0x7E, 0x7F...0xFF, 0x100...0xD7FF, 0xE000...0x10FFFF]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<12, using: &random) {
            let range = ranges.randomElement(using: &random) ?? 0...0
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }

    private mutating func object(depth: Int) -> JSONObject {
        var object = JSONObject()
        for index in 0..<Int.random(in: 0..<5, using: &random) {
            // U+0000 may stand in strings, but not in names
            let name = text().unicodeScalars.filter { $0.value != 0 }.map { String($0) }.joined() + "\(index)"
            object.members.append(.init(name, value(depth: depth)))
        }
        return object
    }
}

/// The bytes of a text.
func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A text as JSON value.
func parsed(_ text: String, limits: JSONLimits = JSONLimits()) throws(JSONFailure) -> JSONValue {
    try JSONParser.parse(utf8(text), limits: limits)
}

extension JSONLimits {
    /// For texts that may hold integers of more than 64 bits.
    static var long: JSONLimits {
        var limits = JSONLimits()
        limits.hasLongIntegers = true
        return limits
    }
}

/// A value as JSON text.
func written(_ value: some JSONEncodable) -> String {
    String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
}

extension JSONScanner {
    static func check(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONFailure) {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONFailure) in try check(buffer, limits: limits) }
    }
}
