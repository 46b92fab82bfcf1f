// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A call in the form that nearly every library writes: `{"jsonrpc":"2.0","id":7,"method":"data.send","params":{…}}`,
/// its members in this order, with or without a space after each colon and comma.
///
/// This envelope is read without building a tree, which would cost more than the parameters of a short call. Any other
/// form, and any malformed text, goes through the full parser.
package struct PlainCall {
    let id: Int64
    let method: String
    /// The range of the parameters, an object as far as the first byte tells.
    let params: Range<Int>

    /// Nil if the message has another form.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, limits: MessageLimits) {
        var reader = PlainCallReader(bytes)
        guard let id = reader.head(), let method = reader.name(atMost: limits.methodCharacters), reader.takes(","),
            reader.takesAfterSpace("\"params\":"), let params = reader.object()
        else { return nil }
        self.id = id
        self.method = method
        self.params = params
    }

    /// The method of a call whose end may be missing; nil if the message begins in another form.
    static func method(atStartOf bytes: UnsafeBufferPointer<UInt8>, limits: MessageLimits) -> String? {
        var reader = PlainCallReader(bytes)
        return reader.head() == nil ? nil : reader.name(atMost: limits.methodCharacters)
    }

    /// The limits that remain for the parameters: the envelope has an object, four names and three values.
    static func limits(ofParams whole: JSONLimits) -> JSONLimits {
        var limits = whole
        limits.depth -= 1
        limits.tokens -= 8
        return limits
    }
}

/// Moves along the envelope; each step moves only past the text it expects.
private struct PlainCallReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var byte: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func takes(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for index in 0..<length where bytes[position + index] != text.utf8Start[index] { return false }
        position += length
        return true
    }

    /// Everything up to the name of the method. Returns the id.
    mutating func head() -> Int64? {
        guard takes("{\"jsonrpc\":"), takesAfterSpace("\"2.0\","), takesAfterSpace("\"id\":"), let id = number(),
            takes(","), takesAfterSpace("\"method\":")
        else { return nil }
        return id
    }

    private mutating func skipSpace() { if byte == UInt8(ascii: " ") { position += 1 } }

    mutating func takesAfterSpace(_ text: StaticString) -> Bool {
        skipSpace()
        return takes(text)
    }

    /// A natural number of at most 18 digits, which always fits an Int64.
    mutating func number() -> Int64? {
        skipSpace()
        let first = position
        var number: Int64 = 0
        while case UInt8(ascii: "0")...UInt8(ascii: "9") = byte, position - first < 18 {
            // safe: an Int64 holds every byte
            number = number &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
            position += 1
        }
        // a number that begins with a zero is zero, or not JSON
        guard position > first, bytes[first] != UInt8(ascii: "0") || position == first + 1 else { return nil }
        return number
    }

    /// A string of letters, digits and full stops, as in all methods of the service. Names with a special meaning, such
    /// as `$/cancelRequest`, have other characters.
    mutating func name(atMost limit: Int) -> String? {
        skipSpace()
        guard byte == UInt8(ascii: "\"") else { return nil }
        position += 1
        let first = position
        loop: while true {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."):
                position += 1
            default: break loop
            }
        }
        guard byte == UInt8(ascii: "\""), position > first, position - first <= limit else { return nil }
        defer { position += 1 }
        return String(decoding: bytes[first..<position], as: UTF8.self)
    }

    /// Everything up to the last byte, which must end the call.
    mutating func object() -> Range<Int>? {
        skipSpace()
        let end = bytes.count - 1
        guard byte == UInt8(ascii: "{"), position < end, bytes[end] == UInt8(ascii: "}") else { return nil }
        return position..<end
    }
}

extension Incoming {
    /// Parses a frame; throws if the frame is not JSON, or beyond the limits.
    ///
    /// - Parameter call: the frame as a plain call, if already known.
    package init(
        parsing frame: UnsafeBufferPointer<UInt8>, as call: PlainCall? = nil, limits: MessageLimits = MessageLimits()
    ) throws(JSONFailure) {
        if let call = call ?? PlainCall(frame, limits: limits),
            let params = try? JSONParser.parse(
                UnsafeBufferPointer(rebasing: frame[call.params]), limits: PlainCall.limits(ofParams: limits.json))
        {
            self = .one(.call(id: .integer(call.id), method: call.method, params: params))
        } else {
            self.init(try JSONParser.parse(frame, limits: limits.json), limits: limits)
        }
    }
}
