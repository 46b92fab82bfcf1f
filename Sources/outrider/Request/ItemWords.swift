// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The words behind a URL, in httpie's manner:
///
///     name=text   name:=json   name=@file   name:=@file   name==query   Name:field   name@file
///
/// Texts and values make a JSON object; a file makes the body a form of parts.
struct ItemWords {
    private enum Item {
        case text(String)
        case value(JSONValue)
        case file(String)
    }

    private var members: [(name: String, item: Item)] = []
    /// Fields, as `-H` takes them.
    private(set) var fields: [String] = []
    private var pairs: [String] = []

    /// The query parameters of the items; nil for none.
    var query: String? { pairs.isEmpty ? nil : pairs.joined(separator: "&") }

    var hasBody: Bool { !members.isEmpty }

    /// The separators: at the same place, the longer separator counts.
    private static let separators = [":=@", ":=", "==", "=@", "=", "@", ":"]

    /// Whether a word is an item, and no URL such as `https://example.org/?a=b` or `127.0.0.1:8080`.
    static func isItem(_ word: String) -> Bool {
        guard !word.hasPrefix("["), let (name, separator, value) = split(word) else { return false }
        return separator != ":" || !(value.hasPrefix("//") || ShellURL.isHost(name, port: value))
    }

    /// Whether a word is an item, and can be no host with what follows a host.
    static func isNoURL(_ word: String) -> Bool {
        guard let (name, separator, _) = split(word), separator.contains("=") else { return false }
        return !name.contains { "/?#".contains($0) }
    }

    /// Whether the value of an item is standard input.
    static func namesInput(_ word: String) -> Bool {
        guard let (_, separator, value) = split(word) else { return false }
        return separator.hasSuffix("@") && value == "-"
    }

    private static func split(_ word: String) -> (name: Substring, separator: String, value: Substring)? {
        // a separator before a combining mark is a separator
        let scalars = word.unicodeScalars
        var at = scalars.startIndex
        while at < scalars.endIndex {
            let rest = scalars[at...]
            if let found = separators.first(where: { rest.starts(with: $0.unicodeScalars) }) {
                guard at > scalars.startIndex else { return nil }
                return (Substring(scalars[..<at]), found, Substring(rest.dropFirst(found.count)))
            }
            at = scalars.index(after: at)
        }
        return nil
    }

    init(_ words: [String]) throws(CommandFailure) {
        for word in words {
            guard let (name, separator, value) = Self.split(word) else {
                let advice = word.hasPrefix("@") ? " (-d \(word) sends a file as the body)" : ""
                throw CommandFailure(
                    .usage,
                    "\(word) is no item: write name=text, name:=json, name==query, Name:field or name@file\(advice)")
            }
            try add(String(name), separator, String(value))
        }
    }

    private mutating func add(_ name: String, _ separator: String, _ value: String) throws(CommandFailure) {
        switch separator {
        case ":" where name.hasPrefix("{"):
            throw CommandFailure(.usage, "\(name.prefix(20))… is no item: write --json '{…}' to send JSON")
        case ":": fields.append("\(name): \(value)")
        case "==": pairs.append("\(DataWords.escaped(Array(name.utf8)))=\(DataWords.escaped(Array(value.utf8)))")
        case ":=": members.append((name, .value(try Self.json(Array(value.utf8), name, "\(name)=text"))))
        case ":=@":
            let bytes = try StandardInput.bytes(of: value)
            members.append((name, .value(try Self.json(bytes, value, "\(name)=@\(value)"))))
        case "=@": members.append((name, .text(try StandardInput.text(of: value))))
        case "@": members.append((name, .file(value)))
        default: members.append((name, .text(value)))
        }
    }

    /// - Parameter other: the item for a text.
    private static func json(_ text: [UInt8], _ source: String, _ other: String) throws(CommandFailure) -> JSONValue {
        do throws(JSONFailure) {
            return try JSONParser.parse(text)
        } catch {
            throw CommandFailure(.usage, "\(source) is no JSON: \(error.reason) (write \(other) for a text)")
        }
    }

    /// A `Body` of the contract.
    func body() throws(CommandFailure) -> JSONObject {
        let hasFile = members.contains { if case .file = $0.item { true } else { false } }
        if hasFile { return ["multipart": .array(try parts())] }
        // without the default fields, the service names no type
        return ["json": .object(object()), "contentType": .string("application/json")]
    }

    private func object() -> JSONObject {
        var object = JSONObject()
        for (name, item) in members {
            switch item {
            case .text(let text): object[name] = .string(text)
            case .value(let value): object[name] = value
            case .file: break
            }
        }
        return object
    }

    private func parts() throws(CommandFailure) -> [JSONValue] {
        var parts: [JSONValue] = []
        for (name, item) in members {
            switch item {
            case .text(let text): parts.append(.object(try FormWord(name: name, text: text).part()))
            case .value(let value): parts.append(.object(["name": .string(name), "json": value]))
            case .file(let path): parts.append(.object(try FormWord(name: name, file: path).part()))
            }
        }
        return parts
    }
}
