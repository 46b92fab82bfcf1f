// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Writes values one after the other: a number that says what it is, its length, its bytes. What is sealed, and what the
/// service and its keeper tell each other, is written so: nothing of it ever meets a JSON library.
package struct PackedWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func put(_ tag: UInt8, bytes value: some Collection<UInt8>) {
        bytes.append(tag)
        bytes.append(contentsOf: Self.bytes(of: UInt32(truncatingIfNeeded: value.count)))
        bytes.append(contentsOf: value)
    }

    package mutating func put(_ tag: UInt8, _ text: String?) {
        if let text { put(tag, bytes: text.utf8) }
    }

    package mutating func put(_ tag: UInt8, _ secret: Secret?) { put(tag, secret?.exposed) }

    package mutating func put(_ tag: UInt8, _ url: HTTPURL?) { put(tag, url?.description) }

    package mutating func put(_ tag: UInt8, _ number: UInt64?) {
        if let number { put(tag, bytes: Self.bytes(of: number)) }
    }

    package mutating func put(_ tag: UInt8, _ number: Int?) {
        if let number { put(tag, UInt64(bitPattern: Int64(number))) }
    }

    package mutating func put(_ tag: UInt8, _ number: Double?) {
        if let number { put(tag, number.bitPattern) }
    }

    package mutating func put(_ tag: UInt8, _ flag: Bool?) {
        if let flag { put(tag, bytes: CollectionOfOne(flag ? 1 : 0)) }
    }

    package mutating func put(_ tag: UInt8, _ value: (some Packed)?) {
        guard let value else { return }
        var inner = PackedWriter()
        value.pack(into: &inner)
        put(tag, bytes: inner.bytes)
    }

    package static func bytes(of value: some Packed) -> [UInt8] {
        var writer = PackedWriter()
        value.pack(into: &writer)
        return writer.bytes
    }

    /// Most significant byte first.
    static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}

/// What can be written and read again so.
package protocol Packed {
    func pack(into writer: inout PackedWriter)
    init(packed scanner: PackedScanner) throws(PackedFault)
}

/// The bytes are not what was written.
package struct PackedFault: Error, Equatable {
    package init() {}
}
