// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A type that can be written as JSON.
package protocol JSONEncodable: SendableMetatype {
    func encode(to writer: inout JSONWriter)

    /// An estimate of the size in bytes, so that the memory need not grow; default 256.
    var expectedBytes: Int { get }

    /// Bytes that follow the text, in place of a value in base64; default nil.
    var raw: [UInt8]? { get }
}

extension JSONEncodable {
    package var expectedBytes: Int { 256 }
    package var raw: [UInt8]? { nil }
}

/// Writes values as JSON bytes, straight into one buffer: ASCII, a single line, reals in their shortest form that reads
/// back the same.
///
/// Containers are closures, so they cannot be left open:
///
///     writer.object { $0.member("status", 200); $0.member("tag", tag) }
///
/// A member whose value is nil is left out.
package struct JSONWriter: ~Copyable {
    private var out: ByteSink
    private var needsComma = false

    package init(capacity: Int = 256) { out = ByteSink(capacity: capacity) }

    private init(_ memory: UnsafeMutableBufferPointer<UInt8>) { out = ByteSink(lent: memory) }

    /// The bytes of a value.
    package static func bytes(of value: some JSONEncodable) -> [UInt8] {
        var overflow: [UInt8]?
        let bytes = [UInt8](unsafeUninitializedCapacity: max(64, value.expectedBytes)) { memory, count in
            var writer = JSONWriter(memory)
            value.encode(to: &writer)
            if writer.out.isLent { count = writer.out.count } else { overflow = writer.bytes }
        }
        return overflow ?? bytes
    }

    /// A JSON string from UTF-8 text; invalid bytes become U+FFFD.
    package static func bytes(ofText text: [UInt8]) -> [UInt8] {
        var overflow: [UInt8]?
        // room for escaped quotes: texts that are JSON themselves have many
        let room = text.count &+ text.count / 4 &+ 64
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { memory, count in
            var writer = JSONWriter(memory)
            text.withUnsafeBufferPointer { writer.appendQuoted($0) }
            if writer.out.isLent { count = writer.out.count } else { overflow = writer.bytes }
        }
        return overflow ?? bytes
    }

    /// The bytes written so far.
    package var bytes: [UInt8] { out.bytes }

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
        out.append(text: number.description)
        needsComma = true
    }

    package mutating func value(_ text: String) {
        separate()
        let isContiguous: Void? = text.utf8.withContiguousStorageIfAvailable { appendQuoted($0) }
        if isContiguous == nil {
            var text = text
            text.withUTF8 { appendQuoted($0) }
        }
        needsComma = true
    }

    package mutating func value(_ value: some JSONEncodable) { value.encode(to: &self) }

    /// A value in its written form.
    mutating func written(_ bytes: [UInt8]) {
        separate()
        bytes.withUnsafeBufferPointer { out.append($0) }
        needsComma = true
    }

    /// Bytes as a base64 string (RFC 4648 section 4), written in place: base64 needs no escaping.
    package mutating func base64(_ data: UnsafeRawBufferPointer) {
        separate()
        out.append(UInt8(ascii: "\""))
        Base64.append(data, to: &out)
        out.append(UInt8(ascii: "\""))
        needsComma = true
    }

    // MARK: containers

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        separate()
        out.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        out.append(UInt8(ascii: "}"))
        needsComma = true
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        separate()
        out.append(UInt8(ascii: "["))
        needsComma = false
        elements(&self)
        out.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// The name of the next value.
    ///
    /// Static names are plain ASCII, and need no escaping.
    package mutating func name(_ name: StaticString) {
        out.append(name: name, afterComma: needsComma)
        needsComma = false
    }

    package mutating func name(dynamic name: String) {
        value(name)
        out.append(UInt8(ascii: ":"))
        needsComma = false
    }

    // Generics are not specialised across targets, so the common members of replies have functions of their own.

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

    /// `{"name":…,"value":…}`, with a function of its own because each response has many fields.
    package mutating func pair(_ name: String, _ value: String) {
        separate()
        append(#"{"name":"#)
        needsComma = false
        self.value(name)
        append(#","value":"#)
        needsComma = false
        self.value(value)
        out.append(UInt8(ascii: "}"))
    }

    // MARK: bytes

    private mutating func separate() {
        if needsComma { out.append(UInt8(ascii: ",")) }
    }

    private mutating func word(_ word: StaticString) {
        separate()
        append(word)
        needsComma = true
    }

    private mutating func append(_ text: StaticString) {
        out.append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func appendDecimal(_ number: Int64) {
        var left = number.magnitude
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = digits.count
            repeat {
                let (quotient, digit) = left.quotientAndRemainder(dividingBy: 10)
                first -= 1
                digits[first] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
                left = quotient
            } while left > 0
            if number < 0 { out.append(UInt8(ascii: "-")) }
            out.append(UnsafeBufferPointer(rebasing: digits[first...]))
        }
    }

    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        out.append(UInt8(ascii: "\""))
        var index = 0
        while true {
            index = out.append(jsonText: text, from: index)
            if index == text.count { break }
            index = out.append(escapesOf: text, from: index)
        }
        out.append(UInt8(ascii: "\""))
    }
}
