// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON

/// The body that `--data`, `--data-urlencode`, `--json` and `--upload-file` name.
enum DataWords {
    /// A piece of a body.
    enum Piece {
        case text(String)
        /// A file, or `-` for standard input.
        case file(String)
        /// The same without its line ends and NUL bytes, as curl's `-d` sends a file.
        case stripped(String)
    }

    /// The option of a word that the parser takes as `--data`, so that all pieces keep their order. A NUL byte cannot
    /// stand in the arguments of a process.
    enum Mark: String, CaseIterable {
        case raw = "\0r"
        case encoded = "\0e"
        case stripped = "\0s"
    }

    /// The pieces of the options, in their order.
    static func pieces(_ data: [String]) throws(CommandFailure) -> [Piece] {
        var pieces: [Piece] = []
        for word in data {
            let (mark, value) = unmarked(word)
            switch mark {
            case .raw: pieces.append(.text(value))
            case .encoded: pieces.append(.text(try escapedWord(value)))
            case .stripped: pieces.append(named(value).map { .stripped($0) } ?? .text(value))
            case nil: pieces.append(named(value).map { .file($0) } ?? .text(value))
            }
        }
        return pieces
    }

    /// The file that a word of data names; `-` is standard input.
    static func fileName(in word: String) -> String? {
        let (mark, value) = unmarked(word)
        switch mark {
        case .raw: return nil
        case .encoded: return value.halves(at: "=") == nil ? value.halves(at: "@")?.behind : nil
        case .stripped, nil: return named(value)
        }
    }

    /// The name behind `@`, which may begin with a combining mark.
    private static func named(_ value: String) -> String? {
        value.unicodeScalars.first == "@" ? String(value.unicodeScalars.dropFirst()) : nil
    }

    private static func unmarked(_ word: String) -> (mark: Mark?, value: String) {
        let scalars = word.unicodeScalars
        // a value may begin with a combining mark
        let mark = Mark.allCases.first { scalars.starts(with: $0.rawValue.unicodeScalars) }
        return (mark, mark == nil ? word : String(scalars.dropFirst(2)))
    }

    /// The service reads a single file unchanged; pipes, which only this process has, are read here.
    static func body(
        _ pieces: [Piece], type: String, separator: String = "&"
    ) throws(CommandFailure) -> JSONObject {
        let contentType = JSONValue.string(type)
        if pieces.count == 1, case .file(let name)? = pieces.first {
            var body = try file(name)
            body["contentType"] = contentType
            return body
        }
        let bytes = try joined(pieces, separator)
        // a text stays readable in `--curl` and in logs of the service
        guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") else {
            return ["base64": .string(Base64.encode(bytes)), "contentType": contentType]
        }
        return ["text": .string(text), "contentType": contentType]
    }

    /// The pieces as text, for the query of a URL.
    static func text(_ pieces: [Piece]) throws(CommandFailure) -> String {
        guard let text = String(validating: try joined(pieces), as: UTF8.self) else {
            throw CommandFailure(.usage, "the data is not UTF-8: use --data-urlencode to put it into a URL")
        }
        return text
    }

    /// A whole file as body; `-` and `.` are standard input, as with curl.
    static func file(_ name: String) throws(CommandFailure) -> JSONObject {
        switch try name == "-" || name == "." ? StandardInput.read() : content(of: name) {
        case .bytes(let bytes): return ["base64": .string(Base64.encode(bytes))]
        case .file(let path): return ["file": .string(path)]
        }
    }

    /// Texts and files with `&` between them, as curl joins repeated data, or another separator.
    private static func joined(_ pieces: [Piece], _ separator: String = "&") throws(CommandFailure) -> [UInt8] {
        var all: [[UInt8]] = []
        for piece in pieces {
            switch piece {
            case .text(let text): all.append(Array(text.utf8))
            case .file(let name): all.append(try StandardInput.bytes(of: name))
            case .stripped(let name):
                all.append(try StandardInput.bytes(of: name).filter { $0 != 0 && $0 != 10 && $0 != 13 })
            }
        }
        return Array(all.joined(separator: Array(separator.utf8)))
    }

    /// A word of `--data-urlencode`: `text`, `=text`, `name=text`, `@file`, `name@file`. The name stays unchanged.
    static func escapedWord(_ word: String) throws(CommandFailure) -> String {
        let text = word.halves(at: "=")
        guard let (name, rest) = text ?? word.halves(at: "@") else { return escaped(Array(word.utf8)) }
        let bytes = text == nil ? try StandardInput.bytes(of: rest) : Array(rest.utf8)
        return (name.isEmpty ? "" : name + "=") + escaped(bytes)
    }

    /// RFC 3986 section 2.3: everything but the unreserved characters becomes `%XX`.
    static func escaped(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        PercentEncoding.segment.append(bytes[...], to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    static func content(of name: String) throws(CommandFailure) -> StandardInput.Content {
        var info = stat()
        let file = open(name, O_RDONLY | O_CLOEXEC)
        guard file >= 0, fstat(file, &info) == 0 else {
            throw CommandFailure(.usage, "cannot read \(name): \(systemError(errno))")
        }
        var isKept = false
        defer { if !isKept { close(file) } }
        if info.st_mode & S_IFMT == S_IFDIR { throw CommandFailure(.usage, "\(name) is a directory: name a file") }
        // what has no name of its own, the service cannot open; files of /proc have no size, and content all the same
        guard info.st_mode & S_IFMT == S_IFREG, info.st_size > 0, let path = realpath(name, nil) else {
            return try StandardInput.read(file)
        }
        defer { free(path) }
        if let text = String(validatingCString: path) { return .file(text) }
        // a message holds UTF-8 alone: the service opens the file by the descriptor of this process
        isKept = true
        return .file("/proc/\(getpid())/fd/\(file)")
    }
}
