// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A property list in Apple's binary format, "bplist00": objects, a table of their offsets, and a trailer. Equal
/// strings are written once.
struct BinaryPropertyListWriter {
    /// The content of an object; references are numbers.
    private enum Object {
        case whole([UInt8])
        /// A marker, then references.
        case container([UInt8], [Int])
    }

    private var objects: [Object] = []
    /// Keyed by bytes: Swift treats different spellings of an accent as equal strings, property lists do not.
    private var strings: [[UInt8]: Int] = [:]

    mutating func document(_ list: PropertyList) -> [UInt8] {
        let top = add(list)
        let width = Self.width(of: objects.count)
        var out = Array("bplist00".utf8)
        var offsets: [Int] = []
        offsets.reserveCapacity(objects.count)
        for object in objects {
            offsets.append(out.count)
            switch object {
            case .whole(let bytes): out += bytes
            case .container(let marker, let references):
                out += marker
                for reference in references { out += Self.bigEndian(reference, width) }
            }
        }
        let table = out.count
        let offsetWidth = Self.width(of: table)
        for offset in offsets { out += Self.bigEndian(offset, offsetWidth) }
        out += [0, 0, 0, 0, 0, 0, UInt8(truncatingIfNeeded: offsetWidth), UInt8(truncatingIfNeeded: width)]
        for number in [objects.count, top, table] { out += Self.bigEndian(number, 8) }
        return out
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private mutating func add(_ value: PropertyList) -> Int {
        switch value {
        case .bool(let flag): append(.whole([flag ? 0x09 : 0x08]))
        case .integer(let number): append(.whole(Self.integer(number)))
        case .unsigned(let number):
            // sixteen bytes, since eight are read as signed
            append(.whole([0x14] + [UInt8](repeating: 0, count: 8) + Self.bigEndian(number)))
        case .real(let number): append(.whole([0x23] + Self.bigEndian(number.bitPattern)))
        case .date(let moment): append(.whole([0x33] + Self.bigEndian(moment.referenceSeconds.bitPattern)))
        case .data(let bytes): append(.whole(Self.marker(0x40, bytes.count) + bytes))
        case .string(let text): add(text)
        case .array(let values):
            container(0xA0, values.count) { writer in values.map { writer.add($0) } }
        case .dictionary(let entries):
            container(0xD0, entries.count) { writer in
                entries.map { writer.add($0.key) } + entries.map { writer.add($0.value) }
            }
        }
    }

    private mutating func append(_ object: Object) -> Int {
        objects.append(object)
        return objects.count &- 1
    }

    /// A container precedes its references, so that the top is object 0.
    private mutating func container(_ kind: UInt8, _ count: Int, _ add: (inout Self) -> [Int]) -> Int {
        let number = append(.whole([]))
        objects[number] = .container(Self.marker(kind, count), add(&self))
        return number
    }

    private mutating func add(_ text: String) -> Int {
        let bytes = Array(text.utf8)
        if let known = strings[bytes] { return known }
        let number: Int
        if bytes.allSatisfy({ $0 < 0x80 }) {
            number = append(.whole(Self.marker(0x50, bytes.count) + bytes))
        } else {
            let units = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
            number = append(.whole(Self.marker(0x60, text.utf16.count) + units))
        }
        strings[bytes] = number
        return number
    }

    // MARK: bytes

    /// The kind and the count: a single byte for a count below 15, else followed by an integer.
    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
        if count < 15 { return [kind | UInt8(truncatingIfNeeded: count)] }
        return [kind | 0x0F] + integer(Int64(truncatingIfNeeded: count))
    }

    /// Unsigned in 1, 2 or 4 bytes, or signed in 8.
    private static func integer(_ number: Int64) -> [UInt8] {
        switch number {
        case 0...0xFF: [0x10] + bigEndian(Int(truncatingIfNeeded: number), 1)
        case 0x100...0xFFFF: [0x11] + bigEndian(Int(truncatingIfNeeded: number), 2)
        case 0x1_0000...0xFFFF_FFFF: [0x12] + bigEndian(Int(truncatingIfNeeded: number), 4)
        default: [0x13] + bigEndian(UInt64(bitPattern: number))
        }
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func bigEndian(_ number: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    /// The fewest bytes that hold a number.
    private static func width(of number: Int) -> Int {
        switch number {
        case ...0xFF: 1
        case ...0xFFFF: 2
        case ...0xFFFF_FFFF: 4
        default: 8
        }
    }
}
