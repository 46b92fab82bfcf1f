// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

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

/// Samples with bytes changed, removed, repeated or cut, as strings (what is no UTF-8 is replaced).
struct Mutations: Sequence, IteratorProtocol {
    private var random: SeededRandom
    private let samples: [[UInt8]]
    private var left: Int
    private let spice: [UInt8]

    init(of samples: [String], count: Int, seed: UInt64, spice: String) {
        random = SeededRandom(seed: seed)
        self.samples = samples.map { Array($0.utf8) }
        self.spice = Array(spice.utf8) + [0, 0x0A, 0x0D, 0x20, 0x7F, 0x80, 0xC3, 0xFF]
        left = count
    }

    mutating func next() -> String? {
        guard left > 0, var bytes = samples.randomElement(using: &random) else { return nil }
        left -= 1
        for _ in 0..<Int.random(in: 1...4, using: &random) { change(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func change(_ bytes: inout [UInt8]) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        let byte = spice.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.insert(byte, at: place)
        case 1: if place < bytes.count { bytes[place] = byte }
        case 2: if place < bytes.count { bytes.remove(at: place) }
        case 3: bytes.removeSubrange(place...)
        case 4: bytes.insert(contentsOf: repeatElement(byte, count: Int.random(in: 1...70, using: &random)), at: place)
        default: bytes.insert(contentsOf: bytes[place...], at: place)
        }
    }
}
