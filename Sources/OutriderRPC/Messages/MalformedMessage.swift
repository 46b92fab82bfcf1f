// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Finds the id of a message that cannot be parsed, so that its sender does not wait for ever (protocol section 3.4).
///
/// Walks the outermost object only. The grammar is strict, but common mistakes of editors are accepted: bytes that are
/// not UTF-8, lone surrogates, numbers out of range, values nested too deep, a text that ends too early. Text that is
/// no JSON at all (comments, trailing commas, bytes after the end) yields nothing: there the id is as doubtful as the
/// rest.
package enum MalformedMessage {
    /// The id, if the object has exactly one `"id"` and a `"method"`.
    package static func id(in bytes: UnsafeBufferPointer<UInt8>) -> RequestID? { id(in: bytes, where: \.hasMethod) }

    /// Whether the message may call one of the methods: by the outermost object, or by any string with such a name if
    /// that object is not JSON, or ends before its method.
    package static func mayCall(_ methods: Set<String>, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var walk = OutermostWalk(bytes: bytes)
        guard walk.run(), walk.hasMethod else {
            return methods.contains { !bytes.ranges(of: Array("\"\($0)\"".utf8)).isEmpty }
        }
        return walk.methods.contains { range in
            let value = try? JSONParser.parse(UnsafeBufferPointer(rebasing: bytes[range]))
            return value?.string.map { methods.contains($0) } ?? false
        }
    }

    private static func id(
        in bytes: UnsafeBufferPointer<UInt8>, where isWanted: (OutermostWalk) -> Bool
    ) -> RequestID? {
        var walk = OutermostWalk(bytes: bytes)
        guard walk.run(), walk.ids == 1, isWanted(walk), let range = walk.id else { return nil }
        guard let value = try? JSONParser.parse(UnsafeBufferPointer(rebasing: bytes[range])) else { return nil }
        return try? RequestID(value)
    }

    /// The error message for bytes that are not JSON. A reply to a callback ends the callback with the error.
    package static func reply(
        to bytes: UnsafeBufferPointer<UInt8>, _ failure: JSONFailure, framing: Framing
    ) -> Message {
        var data: JSONObject = ["reason": .string(failure.reason)]
        let hint = hint(failure, isCut: failure.offset >= bytes.count, framing)
        if let hint { data["hint"] = .string(hint) }
        // many clients show the message alone
        let remedy = hint.map { "; \($0)" } ?? ""
        let error = RPCError(.parseError, "Parse error: \(failure.reason)\(remedy)", data: data)
        return callbackReply(bytes, error, within: RequestID.callbacks) ?? .broken(id: id(in: bytes), error)
    }

    /// The usual cause of a message that ends too early, or too late.
    private static func hint(_ failure: JSONFailure, isCut: Bool, _ framing: Framing) -> String? {
        guard isCut || failure.reason.hasPrefix(JSONFailure.trailing) else { return nil }
        if framing == .header { return "check that Content-Length is the number of bytes, not of characters" }
        return isCut
            ? "the line ended before the JSON value did; send one message per line (jq -c), or use Content-Length framing"
            : "send one message per line"
    }

    /// The error as the reply to a callback, which would wait for its timeout otherwise; nil if the message does not
    /// seem to be a reply.
    private static func callbackReply(
        _ bytes: UnsafeBufferPointer<UInt8>, _ error: RPCError, within ids: ClosedRange<Int64>
    ) -> Message? {
        let found = id(in: bytes, where: { $0.hasResult && !$0.hasMethod })
        guard case .integer(let number)? = found, ids.contains(number) else { return nil }
        let shown: JSONObject = ["code": .integer(Int64(error.code)), "message": .string(error.message)]
        return .reply(id: .integer(number), .error(.object(shown)))
    }

    /// The error message for a message that found no memory; only its beginning is known. If the message seems to be the
    /// reply to a callback, the callback gets the error.
    package static func reply(withoutMemory glimpse: UnsafeBufferPointer<UInt8>) -> Message {
        let error = RPCError(
            .tooMany,
            "the memory of the service for large messages is full (send smaller pieces, read what is due, or raise --memory)",
            data: ["what": .string("memory")])
        return callbackReply(glimpse, error, within: 0...Int64.max) ?? .broken(id: id(in: glimpse), error)
    }

    /// The error message for a message over the limit; only its beginning is known. A reply to a callback ends the
    /// callback with the error.
    package static func reply(toTooLong glimpse: UnsafeBufferPointer<UInt8>, limit: Int) -> Message {
        let error = RPCError(
            .messageTooLong,
            "the message is longer than \(limit) bytes (send a long body from a file, or in pieces with upload.open)",
            data: ["limit": .integer(Int64(limit))])
        return callbackReply(glimpse, error, within: RequestID.callbacks) ?? .broken(id: id(in: glimpse), error)
    }
}

/// A cursor over the outermost object.
private struct OutermostWalk {
    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    var ids = 0
    var id: Range<Int>?
    /// The values of `method`, as far as they are whole.
    var methods: [Range<Int>] = []
    /// Whether a result begins.
    var hasResult = false

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var hasMethod: Bool { !methods.isEmpty }

    private enum Fault: Error {
        /// The text ends here; members found so far count.
        case end
        /// The text is not JSON.
        case grammar
    }

    /// False if the text is not JSON.
    mutating func run() -> Bool {
        do throws(Fault) {
            try object()
            skipSpace()
            return position == bytes.count
        } catch {
            return error == .end
        }
    }

    private func peek() throws(Fault) -> UInt8 {
        guard position < bytes.count else { throw .end }
        return bytes[position]
    }

    private mutating func expect(_ byte: UInt8) throws(Fault) {
        skipSpace()
        guard try peek() == byte else { throw .grammar }
        position += 1
    }

    private mutating func skipSpace() {
        while position < bytes.count, LineScanner.isSpace(bytes[position]) { position += 1 }
    }

    private mutating func object() throws(Fault) {
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return
        }
        while true {
            skipSpace()
            guard try peek() == UInt8(ascii: "\"") else { throw .grammar }
            let start = position + 1
            try string()
            let name = bytes[start..<position - 1]
            try expect(UInt8(ascii: ":"))
            skipSpace()
            if name.elementsEqual("result".utf8) { hasResult = true }
            let value = position
            try self.value()
            if name.elementsEqual("method".utf8) { methods.append(value..<position) }
            if name.elementsEqual("id".utf8) {
                ids += 1
                id = value..<position
            }
            skipSpace()
            switch try peek() {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return
            default: throw .grammar
            }
        }
    }

    private mutating func string() throws(Fault) {
        position += 1
        while true {
            switch try peek() {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): position = min(position + 2, bytes.count)
            default: position += 1
            }
        }
    }

    /// A value with everything inside; brackets are counted, not matched.
    private mutating func value() throws(Fault) {
        var depth = 0
        repeat {
            skipSpace()
            switch try peek() {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw .grammar }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw .grammar }
                position += 1
            case UInt8(ascii: "\""): try string()
            case UInt8(ascii: "t"): try word("true")
            case UInt8(ascii: "f"): try word("false")
            case UInt8(ascii: "n"): try word("null")
            default: try number()
            }
        } while depth > 0
    }

    private mutating func word(_ word: StaticString) throws(Fault) {
        for offset in 0..<word.utf8CodeUnitCount {
            guard try peek() == word.utf8Start[offset] else { throw .grammar }
            position += 1
        }
    }

    private mutating func number() throws(Fault) {
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                position += 1
                continue
            default: break
            }
            break
        }
        guard position > start else { throw .grammar }
        // A number at the very end may be cut off.
        if position == bytes.count { throw .end }
    }
}
