// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What can be written as JSON.
package protocol JSONEncodable: SendableMetatype {
    func encode(to writer: inout JSONWriter)

    /// About how many bytes it takes, so that the memory for it need not grow; default 256.
    var expectedBytes: Int { get }
}

extension JSONEncodable {
    package var expectedBytes: Int { 256 }
}

/// Values to JSON bytes, straight into one buffer: ASCII, one line, reals in their shortest form that reads back the same.
///
/// Containers are closures, so they cannot be left open:
///
///     writer.object { $0.member("status", 200); $0.member("tag", tag) }
///
/// A member whose value is nil is left out.
package struct JSONWriter: ~Copyable {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// The bytes of one value.
    package static func bytes(of value: some JSONEncodable) -> [UInt8] {
        var writer = JSONWriter(capacity: value.expectedBytes)
        value.encode(to: &writer)
        return writer.bytes
    }

    // MARK: values

    package mutating func null() { word("null") }

    package mutating func value(_ flag: Bool) { word(flag ? "true" : "false") }

    package mutating func value(_ number: Int64) {
        separate()
        appendDecimal(number)
        needsComma = true
    }

    package mutating func value(_ number: Int) { value(Int64(number)) }

    /// NaN and the infinities have no form in JSON and become null.
    package mutating func value(_ number: Double) {
        guard number.isFinite else { return null() }
        separate()
        bytes.append(contentsOf: number.description.utf8)
        needsComma = true
    }

    package mutating func value(_ text: String) {
        separate()
        var text = text
        text.withUTF8 { appendQuoted($0) }
        needsComma = true
    }

    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    /// JSON that is already written.
    package mutating func text(_ text: JSONText) {
        separate()
        bytes.append(contentsOf: text.bytes)
        needsComma = true
    }

    /// Members of the object that is being written, already written themselves, without braces.
    package mutating func members(_ text: JSONText) {
        if !text.bytes.isEmpty { self.text(text) }
    }

    /// Bytes as a base64 string (RFC 4648 section 4), written in place: base64 needs no escaping.
    package mutating func base64(_ data: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        Base64.append(data, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    // MARK: containers

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        elements(&self)
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// The name of the next value.
    ///
    /// Names we write ourselves are static and plain ASCII.
    package mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func name(dynamic name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // Generics are not specialised across targets, so what replies mostly consist of has functions of its own.

    package mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: StaticString, _ value: String?) {
        if let value { member(name, value) }
    }

    package mutating func member(_ name: StaticString, _ value: Int) {
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: StaticString, _ value: some JSONEncodable) {
        self.name(name)
        value.encode(to: &self)
    }

    /// Leaves the member out when there is no value.
    package mutating func member(_ name: StaticString, _ value: (some JSONEncodable)?) {
        if let value { member(name, value) }
    }

    package mutating func member(_ name: StaticString, base64 data: UnsafeRawBufferPointer) {
        self.name(name)
        base64(data)
    }

    package mutating func member(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        self.name(name)
        object(members)
    }

    // MARK: bytes

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func word(_ word: StaticString) {
        separate()
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        needsComma = true
    }

    private mutating func appendDecimal(_ number: Int64) {
        if number >= 0 && number < 10 {
            bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number))
        } else {
            bytes.append(contentsOf: number.description.utf8)
        }
    }

    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var plain = 0
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C {
                index += 1
                continue
            }
            bytes.append(contentsOf: text[plain..<index])
            index += appendSpecial(text, index)
            plain = index
        }
        bytes.append(contentsOf: text[plain..<index])
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes the scalar that starts at the index in escaped form; returns how many bytes it took.
    private mutating func appendSpecial(_ text: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int {
        let byte = text[index]
        switch byte {
        case 0x22, 0x5C: appendEscaped(byte)
        case 0x0A: appendEscaped(UInt8(ascii: "n"))
        case 0x0D: appendEscaped(UInt8(ascii: "r"))
        case 0x09: appendEscaped(UInt8(ascii: "t"))
        case 0..<0x80: Self.appendEscape(of: Unicode.Scalar(byte), to: &bytes)
        default:
            var source = text[index...].makeIterator()
            var parser = Unicode.UTF8.ForwardParser()
            guard case .valid(let encoded) = parser.parseScalar(from: &source) else { return 1 }
            Self.appendEscape(of: Unicode.UTF8.decode(encoded), to: &bytes)
            return encoded.count
        }
        return 1
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        bytes.append(0x5C)
        bytes.append(byte)
    }

    static func appendEscape(of scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
            bytes.append(0x5C)
            bytes.append(UInt8(ascii: "u"))
            for shift: UInt16 in [12, 8, 4, 0] {
                let digit = UInt8(truncatingIfNeeded: unit >> shift & 0xF)
                bytes.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
            }
        }
    }
}
