// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A `--form` of a command line, in curl's grammar: `name=content;type=…;filename=…`, whose content is a text, `@file`
/// or `<file`, and `"…"` keeps semicolons, with `\"` and `\\` inside.
struct FormWord {
    private enum Content {
        case text(String)
        /// Sent as a file, under its name.
        case file(String)
        /// Sent as a text.
        case textOf(String)
    }

    private let name: String
    private let content: Content
    private var type: String?
    private var filename: String?
    private var fields: [JSONValue] = []

    /// - Throws: the fault, with the word.
    init(_ word: String) throws(CommandFailure) {
        guard let equals = Self.equals(in: word) else { throw Self.noPart(word) }
        name = String(word[..<equals])
        var rest = word[word.unicodeScalars.index(after: equals)...]
        let mark = rest.unicodeScalars.first
        if mark == "@" || mark == "<" { rest = Substring(rest.unicodeScalars.dropFirst()) }
        let (value, left) = try Self.value(rest, in: word)
        switch mark {
        case "@": content = .file(value)
        case "<": content = .textOf(value)
        default: content = .text(value)
        }
        try takeAttributes(left, of: word)
    }

    /// A word of `--form-string`, in which nothing has a meaning of its own.
    init(plain word: String) throws(CommandFailure) {
        guard let equals = Self.equals(in: word) else { throw Self.noPart(word) }
        name = String(word[..<equals])
        content = .text(String(word[word.unicodeScalars.index(after: equals)...]))
    }

    /// A word of `--form-string` as `--form` takes the same part; nil if the word is no part.
    static func quoted(_ word: String) -> String? {
        guard let equals = Self.equals(in: word) else { return nil }
        var text = String.UnicodeScalarView()
        for scalar in word.unicodeScalars[equals...].dropFirst() {
            if scalar == "\"" || scalar == "\\" { text.append("\\") }
            text.append(scalar)
        }
        return "\(word[..<equals])=\"\(String(text))\""
    }

    /// A file as an item of `outrider post`: `name@path`.
    init(name: String, file: String) {
        self.name = name
        content = .file(file)
    }

    init(name: String, text: String) {
        self.name = name
        content = .text(text)
    }

    /// The end of the name of a part, which is not empty; an equals sign before a combining mark is one, too.
    private static func equals(in word: String) -> String.Index? {
        word.unicodeScalars.firstIndex(of: "=").flatMap { $0 == word.startIndex ? nil : $0 }
    }

    private static func noPart(_ word: String) -> CommandFailure {
        CommandFailure(.usage, "\(word) is no part of a form: write -F 'name=text' or -F 'name=@file'")
    }

    /// Up to the next semicolon, as of curl without the blanks around, or a quoted text.
    private static func value(
        _ rest: Substring, in word: String
    ) throws(CommandFailure) -> (value: String, left: Substring) {
        let scalars = rest.unicodeScalars.drop { $0 == " " }
        guard scalars.first == "\"" else {
            let end = scalars.firstIndex(of: ";") ?? scalars.endIndex
            let value = scalars[..<end]
            let blanks = value.reversed().prefix { $0 == " " }.count
            return (String(value.dropLast(blanks)), rest[end...])
        }
        var value = String.UnicodeScalarView()
        var left = scalars.dropFirst()
        while let character = left.popFirst() {
            if character == "\"" { return (String(value), Substring(left.drop { $0 == " " })) }
            if character == "\\", let next = left.first, next == "\"" || next == "\\" {
                value.append(next)
                left = left.dropFirst()
            } else {
                value.append(character)
            }
        }
        throw CommandFailure(.usage, "\(word): the quote is not closed")
    }

    private mutating func takeAttributes(_ text: Substring, of word: String) throws(CommandFailure) {
        // the text behind a semicolon or an equals sign may begin with a combining mark
        var left = text.unicodeScalars
        while left.first == ";" {
            left = left.dropFirst().drop { $0 == " " }
            guard let equals = left.firstIndex(of: "=") else { break }
            let (value, rest) = try Self.value(Substring(left[equals...].dropFirst()), in: word)
            let name = String(left[..<equals])
            // as curl compares
            switch name.lowercased() {
            case "type" where value.contains(","):
                throw CommandFailure(.usage, "\(word): a part has a single file: write an option -F for each file")
            case "type": type = value
            case "filename": filename = value
            case "headers": fields += try RequestWords.fields([value]).fields
            case let lowered:
                guard let begun = type, lowered != "encoder" else {
                    throw CommandFailure(
                        .usage,
                        "\(word): a part has no \(name) (it has ;type=, ;filename=, ;headers=; quote a text with semicolons)"
                    )
                }
                // a parameter of the type, as in ;type=text/html;charset=utf-8
                type = "\(begun);\(name)=\(value)"
            }
            left = rest.unicodeScalars
        }
        if !left.isEmpty {
            throw CommandFailure(
                .usage,
                "\(word): \(Substring(left)) is no ;type=, ;filename= or ;headers= (quote a text with semicolons)")
        }
    }

    /// A `Part` of the contract.
    func part() throws(CommandFailure) -> JSONObject {
        var part: JSONObject = ["name": .string(name)]
        switch content {
        case .text(let text): part["text"] = .string(text)
        case .textOf(let file):
            let bytes = try StandardInput.bytes(of: file)
            if let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") {
                // without a type, as of curl
                part["text"] = .string(text)
            } else {
                part["base64"] = .string(Base64.encode(bytes))
                if type == nil { part["mimeType"] = .string("text/plain") }
            }
        case .file(let file):
            switch try file == "-" ? StandardInput.read() : DataWords.content(of: file) {
            case .bytes(let bytes): part["base64"] = .string(Base64.encode(bytes))
            case .file(let path): part["file"] = .string(path)
            }
            part["filename"] = .string(file.split(separator: "/").last.map(String.init) ?? file)
            // the ending of the file tells more than another name without one
            if type == nil, let filename, MediaTypes.type(ofFileNamed: filename) == MediaTypes.unknown {
                part["mimeType"] = .string(MediaTypes.type(ofFileNamed: file))
            }
        }
        if let type { part["mimeType"] = .string(type) }
        if let filename { part["filename"] = .string(filename) }
        if !fields.isEmpty { part["headers"] = .array(fields) }
        return part
    }
}
