// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The words of a command line as a POSIX shell would see them, with `$'…'` of bash. Nothing is run and no variable is looked up:
/// what would need a shell is a fault. A shell reads bytes: a quote before a combining mark is a quote.
struct ShellWords {
    private var rest: Substring.UnicodeScalarView
    private var words: [String] = []
    private var word = ""
    private var isInWord = false

    /// - Throws: the part that only a shell could split.
    static func split(_ text: String) throws(CommandFailure) -> [String] {
        var splitter = ShellWords(rest: text[...].unicodeScalars)
        try splitter.run()
        return splitter.words
    }

    private init(rest: Substring.UnicodeScalarView) { self.rest = rest }

    private mutating func run() throws(CommandFailure) {
        while let character = rest.popFirst() {
            switch character {
            case " ", "\t", "\n": end()
            case "\r" where rest.first == "\n": end()
            case "'": try quoted()
            case "\"": try doubleQuoted()
            case "\\": escaped()
            case "$" where rest.first == "'":
                rest = rest.dropFirst()
                try bashQuoted()
            case "`" where rest.first == "\n" || rest.first == "\r":
                throw CommandFailure(
                    .usage, "the command line is PowerShell's: write \\ in place of ` at the ends of its lines")
            case "$" where isVariable || rest.first == "\"", "`":
                throw Self.unfilled(character)
            case "|", ";", "&", "<", ">", "(", ")":
                throw Self.unquoted(character)
            case "#" where !isInWord: rest = rest.drop { $0 != "\n" }
            default: add(character)
            }
        }
        end()
    }

    /// Whether a shell fills in a value for a dollar sign before the rest; otherwise the sign stands for itself.
    private var isVariable: Bool {
        guard let next = rest.first else { return false }
        switch next {
        case "a"..."z", "A"..."Z", "0"..."9": return true
        default: return "_{([@*#?$!-".unicodeScalars.contains(next)
        }
    }

    private mutating func add(_ character: Unicode.Scalar) {
        word.unicodeScalars.append(character)
        isInWord = true
    }

    private mutating func end() {
        if isInWord { words.append(word) }
        word = ""
        isInWord = false
    }

    /// A backslash before the end of a line joins the line with the next.
    private mutating func escaped() {
        if rest.popLineEnd() { return }
        if let next = rest.popFirst() { add(next) }
    }

    private mutating func quoted() throws(CommandFailure) {
        isInWord = true
        while let character = rest.popFirst() {
            if character == "'" { return }
            add(character)
        }
        throw Self.unclosed
    }

    private mutating func doubleQuoted() throws(CommandFailure) {
        isInWord = true
        while let character = rest.popFirst() {
            switch character {
            case "\"": return
            case "\\":
                if rest.popLineEnd() { continue }
                guard let next = rest.popFirst() else { throw Self.unclosed }
                if !"\"\\$`".unicodeScalars.contains(next) { word.append("\\") }
                add(next)
            case "$" where isVariable, "`":
                throw Self.unfilled(character)
            default: add(character)
            }
        }
        throw Self.unclosed
    }

    /// `$'…'` with `\n`, `\'`, `\xHH`, `\NNN` and `\uHHHH`, as browsers and shells write bodies.
    private mutating func bashQuoted() throws(CommandFailure) {
        isInWord = true
        while !rest.isEmpty {
            try bytes()
            guard let character = rest.popFirst() else { break }
            if character == "'" { return }
            guard character == "\\" else {
                add(character)
                continue
            }
            guard let next = rest.popFirst() else { throw Self.unclosed }
            switch next {
            case "a": word.append("\u{7}")
            case "b": word.append("\u{8}")
            case "e", "E": word.append("\u{1B}")
            case "f": word.append("\u{C}")
            case "n": word.append("\n")
            case "r": word.append("\r")
            case "t": word.append("\t")
            case "v": word.append("\u{B}")
            case "u": try scalar(digits: 4)
            case "U": try scalar(digits: 8)
            case "\\", "'", "\"", "?": add(next)
            default: word += "\\\(next)"
            }
        }
        throw Self.unclosed
    }

    /// All bytes at the beginning of the rest: UTF-8, or else characters of Latin-1, as Firefox writes them.
    private mutating func bytes() throws(CommandFailure) {
        var bytes: [UInt8] = []
        while let byte = try byte() { bytes.append(byte) }
        if let text = String(validating: bytes, as: UTF8.self) {
            word += text
        } else {
            for byte in bytes { word.unicodeScalars.append(Unicode.Scalar(byte)) }
        }
    }

    /// The byte of an escape such as `\xe4` or `\344` at the beginning of the rest; nil for anything else.
    private mutating func byte() throws(CommandFailure) -> UInt8? {
        guard rest.first == "\\" else { return nil }
        if rest.starts(with: "\\x".unicodeScalars) {
            rest = rest.dropFirst(2)
            return UInt8(truncatingIfNeeded: try number(digits: 2))
        }
        let digits = rest.dropFirst().prefix(3).prefix { ("0"..."7").contains($0) }
        guard let value = UInt32(Substring(digits), radix: 8) else { return nil }
        rest = rest.dropFirst(1 + digits.count)
        return UInt8(truncatingIfNeeded: value)
    }

    /// The character of `\uHHHH`, or of two such halves: Firefox copies characters behind U+FFFF in halves.
    private mutating func scalar(digits most: Int) throws(CommandFailure) {
        var value = try number(digits: most)
        if (0xD800..<0xDC00).contains(value), rest.starts(with: "\\u".unicodeScalars) {
            rest = rest.dropFirst(2)
            let low = try number(digits: 4)
            guard (0xDC00..<0xE000).contains(low) else { throw Self.incomplete }
            value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let found = Unicode.Scalar(value) else { throw Self.incomplete }
        word.unicodeScalars.append(found)
    }

    private mutating func number(digits most: Int) throws(CommandFailure) -> UInt32 {
        let digits = rest.prefix(most).prefix(while: \.properties.isASCIIHexDigit)
        guard let number = UInt32(Substring(digits), radix: 16) else { throw Self.incomplete }
        rest = rest.dropFirst(digits.count)
        return number
    }

    static var unclosed: CommandFailure {
        CommandFailure(.usage, "the command line has a quote that is not closed")
    }

    private static func unfilled(_ character: Unicode.Scalar) -> CommandFailure {
        CommandFailure(
            .usage, "the command line uses \(character), which only a shell can fill in: write the value in its place")
    }

    private static var incomplete: CommandFailure {
        CommandFailure(.usage, "the command line has \\x or \\u without a character behind it")
    }

    static func unquoted(_ character: Unicode.Scalar) -> CommandFailure {
        CommandFailure(.usage, "the command line has \(character) outside of quotes: paste one command alone")
    }
}

extension Substring.UnicodeScalarView {
    /// Whether the rest begins with the end of a line, LF or CRLF, which is taken away.
    mutating func popLineEnd() -> Bool {
        guard first == "\n" || starts(with: "\r\n".unicodeScalars) else { return false }
        if popFirst() == "\r" { removeFirst() }
        return true
    }
}
