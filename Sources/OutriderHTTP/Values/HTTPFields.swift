// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Header or trailer fields (RFC 9110 section 5): in order, repeated ones preserved, names compared without case but
/// kept as they were written.
package struct HTTPFields: Sendable, Equatable, ExpressibleByArrayLiteral {
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String
        /// Whether the bytes of the value are ISO 8859-1: see `FieldText`.
        package var isLatin1 = false

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        package init(_ name: String, _ value: FieldText) {
            self.name = name
            (self.value, isLatin1) = (value.text, value.isLatin1)
        }

        /// The value with its bytes.
        package var text: FieldText { FieldText(value, isLatin1: isLatin1) }
    }

    package var list: [Field]

    package init(_ list: [Field] = []) { self.list = list }

    package init(arrayLiteral elements: Field...) { list = elements }

    package mutating func add(_ name: String, _ value: String) { list.append(Field(name, value)) }

    /// Replaces all fields of that name by a single field, in the place of the first.
    package mutating func set(_ name: String, _ value: String) { set(Field(name, value)) }

    package mutating func set(_ field: Field) {
        let name = field.name
        guard let index = list.firstIndex(where: { Self.same($0.name, name) }) else { return list.append(field) }
        list[index] = field
        var kept = index
        list.removeAll { field in
            guard Self.same(field.name, name) else { return false }
            defer { kept = -1 }
            return kept < 0
        }
    }

    /// Sorted by name without regard to case; fields of the same name keep their order.
    package func sorted() -> HTTPFields {
        let keyed = list.enumerated().map { (key: $1.name.lowercased(), offset: $0, field: $1) }
        return HTTPFields(keyed.sorted { ($0.key, $0.offset) < ($1.key, $1.offset) }.map(\.field))
    }

    package mutating func remove(_ name: String) { list.removeAll { Self.same($0.name, name) } }

    package func contains(_ name: String) -> Bool { list.contains { Self.same($0.name, name) } }

    /// The value of the first field of that name.
    package func first(_ name: String) -> String? {
        for field in list where Self.same(field.name, name) { return field.value }
        return nil
    }

    package func all(_ name: String) -> [String] {
        list.compactMap { Self.same($0.name, name) ? $0.value : nil }
    }

    /// The same with their bytes.
    package func texts(_ name: String) -> [FieldText] {
        list.compactMap { Self.same($0.name, name) ? $0.text : nil }
    }

    /// Names are compared as ASCII without case. Most differ in their length.
    @inlinable
    package static func same(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count && sameLetters(one, other)
    }

    @usableFromInline
    static func sameLetters(_ one: String, _ other: String) -> Bool {
        let compared = one.utf8.withContiguousStorageIfAvailable { one in
            other.utf8.withContiguousStorageIfAvailable { equal(one, $0) }
        }
        return (compared ?? nil) ?? one.utf8.elementsEqual(other.utf8) { lower($0) == lower($1) }
    }

    private static func equal(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = UnsafeRawPointer(one.baseAddress), let second = UnsafeRawPointer(other.baseAddress) else {
            return true
        }
        var index = 0
        while index < one.count {
            // most names that match are written alike; at the end the word begins with bytes that were compared before
            let start = min(index, one.count &- 8)
            if start >= 0,
                first.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                    == second.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            {
                index = start &+ 8
                continue
            }
            if one[index] != other[index], lower(one[index]) != lower(other[index]) { return false }
            index &+= 1
        }
        return true
    }

    /// The same text for all names that are the same.
    static func key(_ name: String) -> String { String(decoding: name.utf8.lazy.map(lower), as: UTF8.self) }

    /// The byte, a capital letter as its small letter.
    static func lower(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }
}
