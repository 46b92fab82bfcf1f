// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads a binary property list, version 00: objects of a marker byte and content, a table of their offsets, and a
/// trailer of 32 bytes with the widths of offsets and references.
///
/// An object may be referenced many times, so the output is bounded, not only the input.
struct BinaryPropertyList {
    static let magic = Array("bplist00".utf8)
    private static let trailer = 32

    private let bytes: [UInt8]
    private let offsetWidth: Int
    private let referenceWidth: Int
    private let objects: Int
    private let top: Int
    private let table: Int
    private var count = 0
    private var content = 0

    init(_ bytes: [UInt8]) throws(PropertyListFault) {
        self.bytes = bytes
        let start = bytes.count - Self.trailer
        guard start >= Self.magic.count else { throw PropertyListFault(reason: "it is too short") }
        offsetWidth = Int(bytes[start + 6])
        referenceWidth = Int(bytes[start + 7])
        guard (1...8).contains(offsetWidth), (1...8).contains(referenceWidth),
            let objects = Self.number(bytes, start + 8, 8), let top = Self.number(bytes, start + 16, 8),
            let table = Self.number(bytes, start + 24, 8), top < objects, table >= Self.magic.count, table <= start,
            objects <= (start - table) / offsetWidth
        else { throw PropertyListFault(reason: "its trailer makes no sense") }
        self.objects = objects
        self.top = top
        self.table = table
    }

    mutating func root() throws(PropertyListFault) -> PropertyListValue { try object(top, depth: 0) }

    private mutating func object(_ index: Int, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        guard index < objects, let place = Self.number(bytes, table + index * offsetWidth, offsetWidth),
            place >= Self.magic.count, place < table
        else { throw PropertyListFault(reason: "object \(index) is not there") }
        guard depth <= PropertyListLimits.depth else {
            throw PropertyListFault(reason: "it is nested too deeply, or holds itself")
        }
        count += 1
        if count > PropertyListLimits.values { throw PropertyListFault(reason: "there are too many values") }
        let low = Int(bytes[place] & 0x0F)
        switch bytes[place] >> 4 {
        case 0x0: return try word(bytes[place], place)
        case 0x1: return .integer(try integer(place, low))
        case 0x2: return .real(try real(place, low))
        case 0x3: return try date(place, low)
        case 0x4: return .data(Array(try run(place, low, unit: 1)))
        case 0x5:
            let text = try run(place, low, unit: 1)
            guard text.allSatisfy({ $0 < 0x80 }) else {
                throw PropertyListFault(reason: "a string at byte \(place) is not ASCII")
            }
            return .string(String(decoding: text, as: UTF8.self))
        case 0x6:
            // not by the name of the encoding: a first U+FEFF belongs to the text
            guard let text = TextDecoding.utf16(Array(try run(place, low, unit: 2))[...], highFirst: true) else {
                throw PropertyListFault(reason: "a string at byte \(place) is not UTF-16")
            }
            return .string(text)
        case 0x8:
            guard low < 8, let number = Self.wide(bytes, place + 1, low + 1) else { throw cut(place) }
            return .uid(number)
        case 0xA, 0xC: return .array(try values(try references(place, low, per: 1), depth))
        case 0xD: return .dictionary(try members(try references(place, low, per: 2), depth))
        default: throw PropertyListFault(reason: "byte \(place) begins no object that is known")
        }
    }

    private func word(_ byte: UInt8, _ place: Int) throws(PropertyListFault) -> PropertyListValue {
        switch byte {
        case 0x08: return .bool(false)
        case 0x09: return .bool(true)
        default: throw PropertyListFault(reason: "byte \(place) begins no object that is known")
        }
    }

    /// An integer: unsigned with 1, 2 or 4 bytes, signed with 8; 16 bytes for larger numbers.
    private func integer(_ place: Int, _ power: Int) throws(PropertyListFault) -> String {
        guard power <= 4, place + 1 + (1 << power) <= table else { throw cut(place) }
        if power < 4 {
            guard let number = Self.wide(bytes, place + 1, 1 << power) else { throw cut(place) }
            return power == 3 ? Int64(bitPattern: number).description : number.description
        }
        guard let high = Self.wide(bytes, place + 1, 8), let low = Self.wide(bytes, place + 9, 8) else {
            throw cut(place)
        }
        if high == 0 { return low.description }
        guard high == UInt64.max, low >> 63 == 1 else {
            throw PropertyListFault(reason: "an integer at byte \(place) is wider than 64 bits")
        }
        return Int64(bitPattern: low).description
    }

    private func real(_ place: Int, _ power: Int) throws(PropertyListFault) -> Double {
        guard place + 1 + (1 << power) <= table else { throw cut(place) }
        switch power {
        case 2:
            guard let bits = Self.wide(bytes, place + 1, 4) else { throw cut(place) }
            return Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        case 3:
            guard let bits = Self.wide(bytes, place + 1, 8) else { throw cut(place) }
            return Double(bitPattern: bits)
        default: throw PropertyListFault(reason: "a real at byte \(place) has no known width")
        }
    }

    private func date(_ place: Int, _ low: Int) throws(PropertyListFault) -> PropertyListValue {
        guard low == 3, let text = PropertyListDate.text(try real(place, 3)) else {
            throw PropertyListFault(reason: "a date at byte \(place) is out of range")
        }
        return .date(text)
    }

    private mutating func values(_ places: [Int], _ depth: Int) throws(PropertyListFault) -> [PropertyListValue] {
        var values: [PropertyListValue] = []
        for place in places { values.append(try object(place, depth: depth + 1)) }
        return values
    }

    private mutating func members(
        _ places: [Int], _ depth: Int
    ) throws(PropertyListFault) -> [(key: String, value: PropertyListValue)] {
        var members: [(key: String, value: PropertyListValue)] = []
        var seen: Set<[UInt8]> = []
        let half = places.count / 2
        for index in 0..<half {
            guard case .string(let key) = try object(places[index], depth: depth + 1) else {
                throw PropertyListFault(reason: "a key is no string")
            }
            guard seen.insert(Array(key.utf8)).inserted else {
                throw PropertyListFault(reason: "the key \(FieldRules.shown(key)) occurs twice")
            }
            members.append((key, try object(places[half + index], depth: depth + 1)))
        }
        return members
    }

    // MARK: pieces

    /// The start of an object's content, and its number of units.
    private func extent(_ place: Int, _ low: Int) throws(PropertyListFault) -> (start: Int, count: Int) {
        guard low == 0x0F else { return (place + 1, low) }
        guard place + 1 < table, bytes[place + 1] >> 4 == 1 else { throw cut(place) }
        let width = 1 << Int(bytes[place + 1] & 0x0F)
        guard width <= 8, let count = Self.number(bytes, place + 2, width) else { throw cut(place) }
        return (place + 2 + width, count)
    }

    private mutating func run(_ place: Int, _ low: Int, unit: Int) throws(PropertyListFault) -> ArraySlice<UInt8> {
        let (start, count) = try extent(place, low)
        guard start <= table, count <= (table - start) / unit else { throw cut(place) }
        content += count * unit
        if content > PropertyListLimits.content {
            throw PropertyListFault(reason: "its strings and data are too long together")
        }
        return bytes[start..<(start + count * unit)]
    }

    private func references(_ place: Int, _ low: Int, per entry: Int) throws(PropertyListFault) -> [Int] {
        let (start, count) = try extent(place, low)
        guard start <= table, count <= (table - start) / (referenceWidth * entry) else { throw cut(place) }
        guard count * entry <= PropertyListLimits.values else {
            throw PropertyListFault(reason: "there are too many values")
        }
        var references: [Int] = []
        references.reserveCapacity(count * entry)
        for index in 0..<(count * entry) {
            guard let number = Self.number(bytes, start + index * referenceWidth, referenceWidth) else {
                throw cut(place)
            }
            references.append(number)
        }
        return references
    }

    private func cut(_ place: Int) -> PropertyListFault {
        PropertyListFault(reason: "the object at byte \(place) does not fit into the file")
    }

    private static func wide(_ bytes: [UInt8], _ start: Int, _ width: Int) -> UInt64? {
        guard start >= 0, width <= bytes.count - start else { return nil }
        var number: UInt64 = 0
        for byte in bytes[start..<(start + width)] { number = number << 8 | UInt64(byte) }  // safe: a byte
        return number
    }

    /// Nil also for numbers above the size of any file.
    private static func number(_ bytes: [UInt8], _ start: Int, _ width: Int) -> Int? {
        wide(bytes, start, width).flatMap { Int(exactly: $0) }.flatMap { $0 < 1 << 48 ? $0 : nil }
    }
}
