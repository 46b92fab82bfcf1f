// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The words of a command line as a POSIX shell would see them, with `$'…'` of bash. Nothing is run and no variable is looked up:
/// what would need a shell is a fault.
struct ShellWords {
    private var rest: Substring
    private var words: [String] = []
    private var word = ""
    private var isInWord = false

    /// - Throws: the part that only a shell could split.
    static func split(_ text: String) throws(CommandFailure) -> [String] {
        var splitter = ShellWords(rest: text[...])
        try splitter.run()
        return splitter.words
    }

    private init(rest: Substring) { self.rest = rest }

    private mutating func run() throws(CommandFailure) {
        while let character = rest.popFirst() {
            switch character {
            case " ", "\t", "\n", "\r\n": end()
            case "'": try quoted()
            case "\"": try doubleQuoted()
            case "\\": escaped()
            case "$" where rest.first == "'":
                rest = rest.dropFirst()
                try bashQuoted()
            case "$", "`":
                throw CommandFailure(.usage, "the command line uses \(character), which only a shell can fill in")
            case "|", ";", "&", "<", ">", "(", ")":
                throw CommandFailure(
                    .usage, "the command line has \(character) outside of quotes: paste one command alone")
            case "#" where !isInWord: rest = rest.drop { !$0.isNewline }
            default: add(character)
            }
        }
        end()
    }

    private mutating func add(_ character: Character) {
        word.append(character)
        isInWord = true
    }

    private mutating func end() {
        if isInWord { words.append(word) }
        word = ""
        isInWord = false
    }

    /// A backslash before the end of a line joins the line with the next.
    private mutating func escaped() {
        guard let next = rest.popFirst(), !next.isNewline else { return }
        add(next)
    }

    private mutating func quoted() throws(CommandFailure) {
        isInWord = true
        while let character = rest.popFirst() {
            if character == "'" { return }
            word.append(character)
        }
        throw Self.unclosed
    }

    private mutating func doubleQuoted() throws(CommandFailure) {
        isInWord = true
        while let character = rest.popFirst() {
            switch character {
            case "\"": return
            case "\\":
                guard let next = rest.popFirst() else { throw Self.unclosed }
                if next.isNewline { continue }
                if !"\"\\$`".contains(next) { word.append("\\") }
                word.append(next)
            case "$", "`":
                throw CommandFailure(.usage, "the command line uses \(character), which only a shell can fill in")
            default: word.append(character)
            }
        }
        throw Self.unclosed
    }

    /// `$'…'` with `\n`, `\'`, `\xHH` and `\uHHHH`, as browsers copy bodies.
    private mutating func bashQuoted() throws(CommandFailure) {
        isInWord = true
        while let character = rest.popFirst() {
            if character == "'" { return }
            guard character == "\\" else {
                word.append(character)
                continue
            }
            guard let next = rest.popFirst() else { throw Self.unclosed }
            switch next {
            case "n": word.append("\n")
            case "r": word.append("\r")
            case "t": word.append("\t")
            case "x": try number(digits: 2)
            case "u": try number(digits: 4)
            case "U": try number(digits: 8)
            default: word.append(next)
            }
        }
        throw Self.unclosed
    }

    private mutating func number(digits most: Int) throws(CommandFailure) {
        let digits = rest.prefix(most).prefix(while: \.isHexDigit)
        guard let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) else {
            throw CommandFailure(.usage, "the command line has \\x or \\u without a character behind it")
        }
        rest = rest.dropFirst(digits.count)
        word.unicodeScalars.append(scalar)
    }

    private static var unclosed: CommandFailure {
        CommandFailure(.usage, "the command line has a quote that is not closed")
    }
}
