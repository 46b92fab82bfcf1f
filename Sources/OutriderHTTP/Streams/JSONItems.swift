// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A sequence of JSON values in UTF-8: lines of JSON, values with nothing or white space between them, or text
/// sequences (RFC 7464).
///
/// Brackets and quotes delimit a value; then the value is checked strictly. A malformed value becomes an error item.
/// The search continues behind its last bracket, or behind the next line end if the value has no bracket. A record
/// separator ends a value in any case: the writer of the value broke off.
package struct JSONItems: ItemScanner {
    private enum Inside { case nothing, container, string, word }

    private var window = ByteWindow()
    private let longest: Int
    private var isOver = false
    /// Bytes before the value that belong to none.
    private var skipped = 0
    /// Bytes of the window that were looked at, from the beginning of the value.
    private var scanned = 0
    private var inside = Inside.nothing
    private var depth = 0
    private var isQuoted = false
    private var isEscaped = false
    /// The rest of a line is skipped.
    private var isLost = false
    /// Whether the end of the last value is uncertain if that value is malformed.
    private var hasNoBracket = false
    /// A byte order mark may follow.
    private var isFirst = true
    /// A record separator stood before the value.
    private var isRecord = false
    /// The length of the next value, once found.
    private var found: Int?

    /// It occurs in no JSON text, not even within strings (RFC 7464 section 2.2).
    private static let separator: UInt8 = 0x1E

    /// - Parameter longest: most bytes in a value; a longer value ends the stream with `limitExceeded`.
    package init(longest: Int = StreamItem.defaultLongest) { self.longest = longest }

    package var held: Int { window.count }
    package var isContinuous: Bool { false }

    package mutating func begin(contentType: String?) { self = JSONItems(longest: longest) }

    package mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    package mutating func end() { isOver = true }

    package mutating func hasNext() -> Bool { find() || scanned > longest }

    package mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        guard find(), let count = found else {
            if scanned > longest { throw StreamItem.tooLong(longest) }
            return nil
        }
        if count > longest { throw StreamItem.tooLong(longest) }
        let content: StreamItem.Content
        if count > StreamItem.mostAtOnce {
            let value = window.cut(count)
            content = .unmade { Self.content(value) }
        } else {
            content = isTruncated(count) ? Self.truncated : Self.content(Array(window.slice(count)))
            window.take(count)
        }
        hasNoBracket = inside == .word || inside == .nothing
        made(content)
        let item = StreamItem(content, bytes: skipped + count)
        skipped = 0
        restart()
        return item
    }

    package mutating func made(_ content: StreamItem.Content) {
        if case .failed = content { isLost = hasNoBracket }
    }

    /// The checked value, or its failure.
    static func content(_ bytes: [UInt8]) -> StreamItem.Content {
        do throws(JSONFailure) {
            return .value(try JSONText(checking: bytes, limits: Serialization.limits))
        } catch {
            let text = "an item of the stream is not JSON: \(error.reason)"
            return .failed(
                HTTPFailure(.jsonSerializationFailed, text, sent: .sent, underlying: .init(.json, 0, error.reason)))
        }
    }

    private mutating func restart() {
        scanned = 0
        inside = .nothing
        depth = 0
        isQuoted = false
        isEscaped = false
        isRecord = false
        found = nil
    }

    /// Whether a record may be the beginning of a number or a word: white space must follow it (RFC 7464 section 2.4).
    private func isTruncated(_ count: Int) -> Bool {
        guard isRecord, inside == .word else { return false }
        return count == window.count || window[count] == Self.separator
    }

    private static var truncated: StreamItem.Content {
        let reason = "white space must follow a number or a word in a text sequence, else it may be cut short"
        return .failed(
            HTTPFailure(
                .jsonSerializationFailed, "an item of the stream is not JSON: \(reason)", sent: .sent,
                underlying: .init(.json, 0, reason)))
    }

    /// Looks for the end of the next value.
    private mutating func find() -> Bool {
        if found != nil { return true }
        if isFirst, !skipMark() { return false }
        if inside == .nothing { skipSpace(window.slice(window.count)) }
        let rest = window.slice(window.count)
        var index = rest.startIndex + scanned
        while index < rest.endIndex, found == nil {
            look(at: rest[index], index - rest.startIndex)
            index += 1
        }
        scanned = index - rest.startIndex
        // the body ended within a value: the rest becomes an error item
        if found == nil, isOver, inside != .nothing { found = window.count }
        return found != nil
    }

    /// Examines a byte of a value.
    private mutating func look(at byte: UInt8, _ place: Int) {
        // the first byte of a value is none
        if byte == Self.separator {
            found = place
            return
        }
        switch inside {
        case .nothing:
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                inside = .container
                depth = 1
            case UInt8(ascii: "\""): inside = .string
            // no value begins so: a malformed item of a single byte
            case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"): found = 1
            default: inside = .word
            }
        case .word: if Self.endsWord(byte) { found = place }
        case .string: if !continuesString(byte) { found = place + 1 }
        case .container:
            if isQuoted {
                isQuoted = continuesString(byte)
                return
            }
            switch byte {
            case UInt8(ascii: "\""): isQuoted = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { found = place + 1 }
            default: return
            }
        }
    }

    private mutating func continuesString(_ byte: UInt8) -> Bool {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else {
            return byte != UInt8(ascii: "\"")
        }
        return true
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 || byte == separator
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): true
        default: isSpace(byte)
        }
    }

    /// False if more bytes are needed.
    private mutating func skipMark() -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let count = min(mark.count, window.count)
        let isMark = window.slice(count).elementsEqual(mark[..<count])
        if isMark, count < mark.count, !isOver { return false }
        isFirst = false
        if isMark, count == mark.count { skip(count) }
        return true
    }

    private mutating func skip(_ count: Int) {
        skipped += count
        window.take(count)
    }

    /// Skips the bytes between values.
    private mutating func skipSpace(_ bytes: ArraySlice<UInt8>) {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if isLost {
                isLost = bytes[index] != 0x0A && bytes[index] != 0x0D && bytes[index] != Self.separator
            } else if !Self.isSpace(bytes[index]) {
                break
            }
            if bytes[index] == Self.separator { isRecord = true }
            index += 1
        }
        skip(index - bytes.startIndex)
    }
}
