// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Lays out and colours JSON for a terminal while the text arrives, piece by piece and without parsing: other text
/// keeps all its characters. Control characters are escaped, so that no body can control the terminal.
package struct JSONPainter {
    /// Deeper containers are not indented further.
    private static let mostIndented = 100

    private enum Colour: String {
        case key = "34;1"
        case string = "32"
        case number = "36"
        case word = "35"
    }

    private enum Place {
        case between
        /// In a string; `isEscaped` behind a backslash.
        case string(isEscaped: Bool)
        /// In a number, or in `true`, `false` or `null`.
        case literal
    }

    private let isColoured: Bool
    private let isLaidOut: Bool
    private var painted: [UInt8] = []
    private var place = Place.between
    /// The open containers; true for objects.
    private var containers: [Bool] = []
    /// Containers beyond `mostIndented`.
    private var unindented = 0
    private var expectsKey = false
    /// Whether the innermost container holds nothing yet.
    private var isEmpty = false
    private var isTopLevelOver = false
    /// The first byte of a character that may be a control character (U+0080 to U+009F).
    private var held: UInt8?

    /// - Parameters:
    ///   - colours: whether to colour names, strings, numbers and words.
    ///   - layout: whether to put each member or item on a line of its own, indented by two spaces; else the white
    ///     space stays.
    package init(colours: Bool, layout: Bool) {
        isColoured = colours
        isLaidOut = layout
    }

    /// Paints further bytes, and returns the bytes for the terminal.
    package mutating func paint(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        for byte in bytes { take(byte) }
        defer { painted = [] }
        return painted
    }

    /// Ends the text: resets the colours, and ends the line.
    package mutating func finish() -> [UInt8] {
        endLiteral()
        if case .string = place { uncolour() }
        if let held { painted.append(held) }
        held = nil
        if isLaidOut, isTopLevelOver || !containers.isEmpty { painted.append(UInt8(ascii: "\n")) }
        defer { painted = [] }
        return painted
    }

    private mutating func take(_ byte: UInt8) {
        switch place {
        case .string(let isEscaped): takeInString(byte, isEscaped: isEscaped)
        case .literal where Self.isLiteral(byte): painted.append(byte)
        case .literal, .between:
            endLiteral()
            takeBetween(byte)
        }
    }

    private mutating func takeInString(_ byte: UInt8, isEscaped: Bool) {
        put(byte)
        if isEscaped {
            place = .string(isEscaped: false)
        } else if byte == UInt8(ascii: "\\") {
            place = .string(isEscaped: true)
        } else if byte == UInt8(ascii: "\"") {
            uncolour()
            place = .between
            endValue()
        }
    }

    private mutating func takeBetween(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
            if !isLaidOut { painted.append(byte) }
        case UInt8(ascii: "{"), UInt8(ascii: "["): open(byte)
        case UInt8(ascii: "}"), UInt8(ascii: "]"): close(byte)
        case UInt8(ascii: ","):
            painted.append(byte)
            expectsKey = containers.last ?? false
            isTopLevelOver = false
            breakLine()
        case UInt8(ascii: ":"):
            painted.append(byte)
            if isLaidOut { painted.append(UInt8(ascii: " ")) }
            expectsKey = false
        case UInt8(ascii: "\""):
            beginValue()
            colour(expectsKey ? .key : .string)
            painted.append(byte)
            place = .string(isEscaped: false)
        default:
            guard Self.isLiteral(byte) else {
                (isEmpty, isTopLevelOver) = (false, false)
                return put(byte)
            }
            beginValue()
            let isNumber = byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            colour(isNumber ? .number : .word)
            painted.append(byte)
            place = .literal
        }
    }

    private mutating func open(_ byte: UInt8) {
        beginValue()
        painted.append(byte)
        if containers.count < Self.mostIndented {
            containers.append(byte == UInt8(ascii: "{"))
        } else {
            unindented += 1
        }
        expectsKey = byte == UInt8(ascii: "{")
        isEmpty = true
    }

    private mutating func close(_ byte: UInt8) {
        let isOpen = !containers.isEmpty
        if unindented > 0 { unindented -= 1 } else if isOpen { containers.removeLast() }
        if isOpen, !isEmpty { breakLine() }
        isEmpty = false
        painted.append(byte)
        expectsKey = false
        endValue()
    }

    /// White space before a value: the first value of a container, or a further text in a sequence of texts.
    private mutating func beginValue() {
        if isEmpty || (isTopLevelOver && containers.isEmpty) { breakLine() }
        isEmpty = false
        isTopLevelOver = false
    }

    private mutating func endValue() {
        if containers.isEmpty { isTopLevelOver = true }
    }

    private mutating func endLiteral() {
        guard case .literal = place else { return }
        uncolour()
        place = .between
        endValue()
    }

    private mutating func breakLine() {
        guard isLaidOut else { return }
        painted.append(UInt8(ascii: "\n"))
        painted += [UInt8](repeating: UInt8(ascii: " "), count: containers.count * 2)
    }

    private mutating func colour(_ colour: Colour) {
        if isColoured { painted += "\u{1B}[\(colour.rawValue)m".utf8 }
    }

    private mutating func uncolour() {
        if isColoured { painted += "\u{1B}[0m".utf8 }
    }

    /// Appends a byte of a text, as `\u001b` if the byte is part of a control character.
    private mutating func put(_ byte: UInt8) {
        if held != nil {
            held = nil
            if (0x80...0x9F).contains(byte) { return escape(byte) }
            painted.append(0xC2)
        }
        switch byte {
        case 0xC2: held = byte
        case 0..<0x20, 0x7F: escape(byte)
        default: painted.append(byte)
        }
    }

    private mutating func escape(_ byte: UInt8) {
        let digits = Array("0123456789abcdef".utf8)
        painted += "\\u00".utf8
        painted.append(digits[Int(byte >> 4)])  // safe: below 16
        painted.append(digits[Int(byte & 15)])
    }

    private static func isLiteral(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
