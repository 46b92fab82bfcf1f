// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads the output of `PackedWriter`. An unknown tag is skipped, since a later version may have written it.
package struct PackedScanner: Sendable {
    private var values: [UInt8: [ArraySlice<UInt8>]] = [:]

    package init(_ bytes: some Sequence<UInt8>) throws(PackedFault) {
        var rest = Array(bytes)[...]
        while let tag = rest.popFirst() {
            guard let size: UInt32 = Self.number(rest.prefix(4)), rest.count - 4 >= Int(size) else {
                throw PackedFault()
            }
            rest.removeFirst(4)
            values[tag, default: []].append(rest.prefix(Int(size)))
            rest.removeFirst(Int(size))
        }
    }

    /// The values of a tag, in order.
    func pieces(_ tag: UInt8) -> [ArraySlice<UInt8>] { values[tag] ?? [] }

    package func bytes(_ tag: UInt8) -> [UInt8]? { values[tag]?.first.map(Array.init) }

    package func text(_ tag: UInt8) throws(PackedFault) -> String? {
        guard let bytes = values[tag]?.first else { return nil }
        return try Self.text(bytes)
    }

    package func texts(_ tag: UInt8) throws(PackedFault) -> [String] {
        var found: [String] = []
        for bytes in values[tag] ?? [] { found.append(try Self.text(bytes)) }
        return found
    }

    package func secret(_ tag: UInt8) throws(PackedFault) -> Secret? {
        guard let bytes = values[tag]?.first else { return nil }
        return bytes.withUnsafeBytes { Secret(copying: $0) }
    }

    package func url(_ tag: UInt8) throws(PackedFault) -> HTTPURL? { try urls(tag).first }

    package func urls(_ tag: UInt8) throws(PackedFault) -> [HTTPURL] {
        var found: [HTTPURL] = []
        for text in try texts(tag) {
            guard let url = try? HTTPURL(parsing: text) else { throw PackedFault() }
            found.append(url)
        }
        return found
    }

    package func number(_ tag: UInt8) throws(PackedFault) -> UInt64? {
        guard let bytes = values[tag]?.first else { return nil }
        guard let number: UInt64 = Self.number(bytes) else { throw PackedFault() }
        return number
    }

    package func integer(_ tag: UInt8) throws(PackedFault) -> Int? {
        guard let number = try number(tag) else { return nil }
        guard let integer = Int(exactly: Int64(bitPattern: number)) else { throw PackedFault() }
        return integer
    }

    /// Never infinite, never NaN.
    package func real(_ tag: UInt8) throws(PackedFault) -> Double? {
        guard let number = try number(tag) else { return nil }
        let real = Double(bitPattern: number)
        guard real.isFinite else { throw PackedFault() }
        return real
    }

    package func flag(_ tag: UInt8) throws(PackedFault) -> Bool? {
        guard let bytes = values[tag]?.first else { return nil }
        guard bytes.count == 1, let byte = bytes.first, byte < 2 else { throw PackedFault() }
        return byte == 1
    }

    package func choice<Choice: RawRepresentable<String>>(
        _ tag: UInt8, _: Choice.Type = Choice.self
    ) throws(PackedFault) -> Choice? {
        guard let text = try text(tag) else { return nil }
        guard let choice = Choice(rawValue: text) else { throw PackedFault() }
        return choice
    }

    private static func text(_ bytes: ArraySlice<UInt8>) throws(PackedFault) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw PackedFault() }
        return text
    }

    private static func number<Number: FixedWidthInteger & UnsignedInteger>(_ bytes: ArraySlice<UInt8>) -> Number? {
        guard bytes.count == Number.bitWidth / 8 else { return nil }
        return bytes.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}

extension Optional {
    /// The value, which must be present.
    package func orFault() throws(PackedFault) -> Wrapped {
        guard let self else { throw PackedFault() }
        return self
    }
}

/// The bytes are no valid packed form.
package struct PackedFault: Error, Equatable {
    package init() {}
}
