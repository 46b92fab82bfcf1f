// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A type with a packed form.
package protocol Packed {
    func pack(into writer: inout PackedWriter)
    init(packed scanner: PackedScanner) throws(PackedFault)
}

extension PackedWriter {
    package mutating func put(_ tag: UInt8, _ value: (some Packed)?) {
        if let value { put(tag, parts: { value.pack(into: &$0) }) }
    }

    /// In ordinary memory.
    package static func bytes(of value: some Packed) -> [UInt8] {
        var writer = PackedWriter()
        value.pack(into: &writer)
        return writer.bytes
    }

    /// Without a copy in ordinary memory.
    package static func secret(of value: some Packed) -> Secret {
        var writer = PackedWriter()
        value.pack(into: &writer)
        return writer.secret()
    }
}

extension PackedScanner {
    package func value<Value: Packed>(_ tag: UInt8, _: Value.Type = Value.self) throws(PackedFault) -> Value? {
        guard let bytes = pieces(tag).first else { return nil }
        return try Value(packed: PackedScanner(bytes))
    }

    package func list<Value: Packed>(_ tag: UInt8, _: Value.Type = Value.self) throws(PackedFault) -> [Value] {
        var found: [Value] = []
        for bytes in pieces(tag) { found.append(try Value(packed: PackedScanner(bytes))) }
        return found
    }
}
