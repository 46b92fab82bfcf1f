// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds places in a JSON text without building values: the value that contains a byte, and the text of a member.
package enum JSONLocator {
    /// The innermost value that contains, or begins at, a byte.
    ///
    /// Needs no valid text after that byte.
    package static func pointer(at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> JSONPointer {
        var walk = Walk(bytes: bytes)
        while walk.position < offset, walk.step() {}
        return walk.pointer
    }

    /// The range of a member's value in the text of an object, or nil if the outermost value has no such member.
    ///
    /// The text must have passed JSONScanner.
    package static func range(ofMember name: String, in bytes: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var cursor = JSONCursor(bytes)
        guard cursor.peek() == UInt8(ascii: "{") else { return nil }
        var found: Range<Int>?
        cursor.eachMember { cursor, member in
            let value = cursor.value()
            if found == nil, cursor.text(member).utf8.elementsEqual(name.utf8) { found = value }
        }
        return found
    }

    /// The ranges of the values in the text of an array.
    ///
    /// The text must have passed JSONScanner.
    package static func elements(in bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var cursor = JSONCursor(bytes)
        guard cursor.peek() == UInt8(ascii: "[") else { return [] }
        var ranges: [Range<Int>] = []
        cursor.eachElement { ranges.append($0.value()) }
        return ranges
    }
}

/// A cursor over JSON tokens that knows the names and indices on the way down.
private struct Walk {
    private enum Level {
        case array(Int)
        case object(Range<Int>?, wantsName: Bool)
    }

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    private var levels: [Level] = []

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var pointer: JSONPointer {
        var pointer = JSONPointer.root
        for level in levels.suffix(128).reversed() {
            switch level {
            case .array(let index): pointer = pointer.under(index: index)
            case .object(let name?, _): pointer = pointer.under(member: text(name))
            case .object(nil, _): break
            }
        }
        return pointer
    }

    /// Reads a token; false at the end.
    mutating func step() -> Bool {
        guard position < bytes.count else { return false }
        let byte = bytes[position]
        switch byte {
        case UInt8(ascii: "{"):
            levels.append(.object(nil, wantsName: true))
            position += 1
        case UInt8(ascii: "["):
            levels.append(.array(0))
            position += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            _ = levels.popLast()
            position += 1
        case UInt8(ascii: ","):
            if case .array(let index) = levels.last {
                levels[levels.count - 1] = .array(index + 1)
            } else if case .object = levels.last {
                levels[levels.count - 1] = .object(nil, wantsName: true)
            }
            position += 1
        case UInt8(ascii: "\""):
            let start = position + 1
            skipString()
            if case .object(_, wantsName: true) = levels.last {
                levels[levels.count - 1] = .object(start..<max(start, position - 1), wantsName: false)
            }
        default:
            position += 1
        }
        return true
    }

    private mutating func skipString() {
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return
            case UInt8(ascii: "\\"): position = min(position + 2, bytes.count)
            default: position += 1
            }
        }
    }

    /// The text of a name; a name with escapes is decoded by the parser, as a JSON string of its own.
    private func text(_ range: Range<Int>) -> String {
        let slice = bytes[range]
        guard slice.contains(UInt8(ascii: "\\")) else { return String(decoding: slice, as: UTF8.self) }
        let quoted = [UInt8(ascii: "\"")] + slice + [UInt8(ascii: "\"")]
        let parsed = quoted.withUnsafeBufferPointer { JSONTree.value($0) }
        return parsed?.string ?? String(decoding: slice, as: UTF8.self)
    }
}
