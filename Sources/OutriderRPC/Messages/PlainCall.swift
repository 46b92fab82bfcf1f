// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderJSON

/// A call in the form that nearly every library writes: `{"jsonrpc":"2.0","id":7,"method":"data.send","params":{…}}`,
/// its members in this order, with or without a space after each colon and comma.
///
/// This envelope is read without building a tree, which would cost more than the parameters of a short call. Any other
/// form, and any malformed text, goes through the full parser.
package struct PlainCall {
    let id: Int64
    let method: String
    /// The range of the parameters, an object as far as brackets tell.
    let params: Range<Int>

    /// The method of a call whose end may be missing; nil if the message begins in another form.
    static func method(atStartOf bytes: UnsafeBufferPointer<UInt8>, limits: MessageLimits) -> String? {
        var reader = PlainCallReader(bytes)
        return reader.head() == nil ? nil : reader.name(atMost: limits.methodCharacters)
    }

    /// The parameters as values; nil if they are not JSON, or beyond the limits.
    ///
    /// - Parameter depth: the containers around the parameters.
    func message(in frame: UnsafeBufferPointer<UInt8>, _ limits: MessageLimits, depth: Int) -> Message? {
        var limits = limits.json
        limits.depth -= depth
        // an object, four names and three values
        limits.tokens -= 8
        guard let params = try? JSONParser.parse(UnsafeBufferPointer(rebasing: frame[params]), limits: limits) else {
            return nil
        }
        return .call(id: .integer(id), method: method, params: params)
    }
}

/// A plain call, or a batch of plain calls: `[{…},{…}]`, with or without a space after each comma.
package enum PlainFrame {
    case call(PlainCall)
    case batch([PlainCall])

    /// Nil if the frame has another form.
    package init?(_ bytes: UnsafeBufferPointer<UInt8>, limits: MessageLimits) {
        var reader = PlainCallReader(bytes)
        if bytes.first == UInt8(ascii: "[") {
            // so the limit of values holds for all calls together
            guard bytes.count <= limits.json.tokens, let calls = reader.batch(limits) else { return nil }
            self = .batch(calls)
        } else {
            guard let call = reader.call(limits, { $0.object() }) else { return nil }
            self = .call(call)
        }
    }

    /// Whether a call of the frame has a method that satisfies the condition.
    func names(_ isWanted: (String) -> Bool) -> Bool {
        switch self {
        case .call(let call): isWanted(call.method)
        case .batch(let calls): calls.contains { isWanted($0.method) }
        }
    }

    /// The messages; nil if parameters are not JSON, or beyond the limits.
    func incoming(in frame: UnsafeBufferPointer<UInt8>, _ limits: MessageLimits) -> Incoming? {
        switch self {
        case .call(let call): return call.message(in: frame, limits, depth: 1).map { .one($0) }
        case .batch(let calls):
            var messages: [Message] = []
            messages.reserveCapacity(calls.count)
            for call in calls {
                guard let message = call.message(in: frame, limits, depth: 2) else { return nil }
                messages.append(message)
            }
            return .batch(messages)
        }
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
        guard let start = bytes.baseAddress, bytes.count - position >= length,
            memcmp(start + position, text.utf8Start, length) == 0
        else { return false }
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

    /// - Parameter object: moves over the parameters.
    mutating func call(
        _ limits: MessageLimits, _ object: (inout PlainCallReader) -> Range<Int>?
    ) -> PlainCall? {
        guard let id = head(), let method = name(atMost: limits.methodCharacters), takes(","),
            takesAfterSpace("\"params\":"), let params = object(&self)
        else { return nil }
        return PlainCall(id: id, method: method, params: params)
    }

    mutating func batch(_ limits: MessageLimits) -> [PlainCall]? {
        guard takes("[") else { return nil }
        var calls: [PlainCall] = []
        calls.reserveCapacity(16)
        repeat {
            skipSpace()
            guard calls.count < limits.batchItems, let call = call(limits, { $0.nestedObject() }), takes("}") else {
                return nil
            }
            calls.append(call)
        } while takes(",")
        return takes("]") && position == bytes.count ? calls : nil
    }

    /// Everything up to the last byte, which must end the call.
    mutating func object() -> Range<Int>? {
        skipSpace()
        let end = bytes.count - 1
        guard byte == UInt8(ascii: "{"), position < end, bytes[end] == UInt8(ascii: "}") else { return nil }
        return position..<end
    }

    /// Everything up to the bracket that closes the object. Only strings and curly brackets are looked at: the parser
    /// checks the text.
    private mutating func nestedObject() -> Range<Int>? {
        skipSpace()
        guard byte == UInt8(ascii: "{") else { return nil }
        let first = position
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 {
                    position += 1
                    return first..<position
                }
            default: break
            }
            position += 1
        }
        return nil
    }

    /// From the first quote to the last, or to the end of the frame.
    private mutating func skipString() {
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
    }
}

extension Incoming {
    /// Parses a frame; throws if the frame is not JSON, or beyond the limits.
    ///
    /// - Parameter plain: the frame in its plain form, if already known.
    package init(
        parsing frame: UnsafeBufferPointer<UInt8>, as plain: PlainFrame? = nil, limits: MessageLimits = MessageLimits()
    ) throws(JSONFailure) {
        if let incoming = (plain ?? PlainFrame(frame, limits: limits))?.incoming(in: frame, limits) {
            self = incoming
        } else {
            self.init(try JSONParser.parse(frame, limits: limits.json), limits: limits)
        }
    }
}
