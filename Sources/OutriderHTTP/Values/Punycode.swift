// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Text beyond ASCII as letters, digits and hyphens (RFC 3492).
enum Punycode {
    private static let base: UInt32 = 36
    private static let least: UInt32 = 1
    private static let most: UInt32 = 26

    /// The encoded label without `xn--`; nil if longer than the label of a host may be.
    static func encode(_ label: [Unicode.Scalar]) -> String? {
        guard label.count <= 63 else { return nil }
        var output = label.compactMap { $0.isASCII ? UInt8(truncatingIfNeeded: $0.value) : nil }
        let basic = UInt32(truncatingIfNeeded: output.count)
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var next: UInt32 = 128
        var delta: UInt32 = 0
        var bias: UInt32 = 72
        var handled = basic
        while handled < label.count {
            guard let smallest = label.lazy.map(\.value).filter({ $0 >= next }).min() else { return nil }
            // at most 64 labels and 0x110000 scalars: below 2^27
            delta &+= (smallest &- next) &* (handled &+ 1)
            next = smallest
            for scalar in label {
                if scalar.value < next { delta &+= 1 }
                guard scalar.value == next else { continue }
                append(delta, bias, to: &output)
                bias = adapted(delta, handled &+ 1, isFirst: handled == basic)
                delta = 0
                handled &+= 1
            }
            delta &+= 1
            next &+= 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number in digits of increasing weight (section 3.3).
    private static func append(_ delta: UInt32, _ bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        var weight = base
        while true {
            let threshold = weight <= bias ? least : min(weight &- bias, most)
            if rest < threshold { break }
            output.append(digit(threshold &+ (rest &- threshold) % (base &- threshold)))
            rest = (rest &- threshold) / (base &- threshold)
            weight &+= base
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? value &+ 0x61 : value &+ 0x16)
    }

    /// Section 3.4.
    private static func adapted(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta &+= delta / count
        var steps: UInt32 = 0
        while delta > (base &- least) &* most / 2 {
            delta /= base &- least
            steps &+= base
        }
        return steps &+ (base &- least &+ 1) &* delta / (delta &+ 38)
    }
}
