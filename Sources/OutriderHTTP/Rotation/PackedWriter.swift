// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Writes values in sequence: a tag of a byte, the length, the bytes. Records are sealed in this form, and the service
/// and its helper exchange messages in this form; no JSON library is involved.
///
/// All values may be secret, and are written into a `SecretBuffer`.
package struct PackedWriter: ~Copyable, Sendable {
    private var buffer = SecretBuffer()

    package init() {}

    /// A copy of the written bytes, in ordinary memory.
    package var bytes: [UInt8] { buffer.withBytes { Array($0) } }

    package mutating func put(_ tag: UInt8, bytes value: some Collection<UInt8>) {
        begin(tag, value.count)
        buffer.append(contentsOf: value)
    }

    private mutating func begin(_ tag: UInt8, _ length: Int) {
        buffer.append(tag)
        buffer.append(contentsOf: Self.bytes(of: UInt32(truncatingIfNeeded: length)))
    }

    package mutating func put(_ tag: UInt8, _ text: String?) {
        if let text { put(tag, bytes: text.utf8) }
    }

    package mutating func put(_ tag: UInt8, _ secret: Secret?) {
        guard let secret else { return }
        begin(tag, secret.count)
        secret.withBytes { buffer.append(UnsafeRawBufferPointer($0)) }
    }

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

    /// Puts a value that writes its own parts.
    mutating func put(_ tag: UInt8, parts write: (inout PackedWriter) -> Void) {
        begin(tag, 0)
        let start = buffer.count
        write(&self)
        let length = UInt32(truncatingIfNeeded: buffer.count - start)
        buffer.replace(at: start - 4, with: Self.bytes(of: length))
    }

    /// The written bytes, without a copy in ordinary memory.
    consuming func secret() -> Secret { Secret(buffer) }

    /// Most significant byte first.
    static func bytes(of number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }
}
