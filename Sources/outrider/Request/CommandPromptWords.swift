// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The words of a command line for cmd.exe, as browsers copy it on Windows: carets are for cmd.exe, backslashes for
/// the program. Nothing is run and no variable is looked up.
enum CommandPromptWords {
    /// Whether a caret before a quote or at the end of a line, which only cmd.exe takes away, comes before all words in
    /// single quotes, which cmd.exe has not.
    static func fits(_ text: String) -> Bool {
        var last: Unicode.Scalar = " "
        var lastButOne: Unicode.Scalar = " "
        for character in text.unicodeScalars {
            let isCaretAlone = last == "^" && lastButOne.properties.isWhitespace
            if isCaretAlone, "\"\r\n".unicodeScalars.contains(character) { return true }
            let beginsWord = last.properties.isWhitespace || (last == "$" && lastButOne.properties.isWhitespace)
            if character == "'", beginsWord { return false }
            lastButOne = last
            last = character
        }
        return false
    }

    /// - Throws: the part that cmd.exe would take for a second command or a file.
    static func split(_ text: String) throws(CommandFailure) -> [String] { try words(of: unescaped(text)) }

    /// The line that cmd.exe hands to the program.
    private static func unescaped(_ text: String) throws(CommandFailure) -> String {
        var rest = text[...].unicodeScalars
        var line = String.UnicodeScalarView()
        var isQuoted = false
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                isQuoted.toggle()
                line.append(character)
            case "^" where !isQuoted:
                // the end of a line goes with its caret, and the next character stands for itself
                _ = rest.popLineEnd()
                let next: Unicode.Scalar? = rest.popLineEnd() ? "\n" : rest.popFirst()
                if let next { line.append(next) }
            case "|", "&", "<", ">":
                guard isQuoted else { throw ShellWords.unquoted(character) }
                line.append(character)
            default: line.append(character)
            }
        }
        return String(line)
    }

    /// The words that the program sees. Two backslashes are one everywhere, since browsers double every backslash.
    private static func words(of line: String) throws(CommandFailure) -> [String] {
        var rest = line[...].unicodeScalars
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var isInWord = false
        var isQuoted = false
        while let character = rest.popFirst() {
            if character.properties.isWhitespace, !isQuoted {
                if isInWord { words.append(String(word)) }
                word = String.UnicodeScalarView()
                isInWord = false
                continue
            }
            isInWord = true
            switch character {
            case "\"" where isQuoted && rest.first == "\"":
                rest = rest.dropFirst()
                word.append(character)
            case "\"": isQuoted.toggle()
            case "\\":
                let isEscape = rest.first == "\\" || rest.first == "\""
                word.append(isEscape ? rest.removeFirst() : character)
            default: word.append(character)
            }
        }
        if isQuoted { throw ShellWords.unclosed }
        if isInWord { words.append(String(word)) }
        return words
    }
}
