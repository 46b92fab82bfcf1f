// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A file of requests in the format of the REST Client of VS Code, as kulala and JetBrains' HTTP Client read it:
///
///     @host = https://example.org
///     ### get a wolf
///     # @name wolf
///     GET {{host}}/wolves/1 HTTP/1.1
///     Accept: application/json
///
///     ### make one
///     POST {{host}}/wolves
///     Content-Type: application/json
///
///     {"name": "{{name}}"}
///
/// `Authorization: Basic user password` is encoded, and `Digest user password` proven when the server asks.
/// `< file` as a body, or as a line of a body, sends a file, `<@ file` its text with variables filled in, and
/// `{{NAME.response.body.$.member}}` is a part of an earlier response. Scripts are faults, not ignored.
struct RequestFile {
    struct Request {
        /// From `# @name`, else the title behind `###`; empty for none.
        var name = ""
        /// The line of the method, from 1.
        var line = 0
        var method = "GET"
        var url = ""
        /// As `-H` takes them.
        var fields: [String] = []
        var body: [Piece] = []
        var followsRedirects = true

        /// A part of a body: lines, each with its end, or `< file`, whose text may be filled with variables.
        enum Piece {
            case text(String)
            case file(path: String, isFilled: Bool)
        }

        fileprivate func isOfType(_ type: String) -> Bool {
            fields.contains { field in
                let field = field.lowercased()
                return field.hasPrefix("content-type:") && field.contains(type)
            }
        }

        /// The text behind the last file.
        fileprivate var tail: String {
            get {
                if case .text(let text)? = body.last { return text }
                return ""
            }
            set {
                if case .text? = body.last { body.removeLast() }
                if !newValue.isEmpty { body.append(.text(newValue)) }
            }
        }
    }

    private(set) var requests: [Request] = []
    /// The variables of the file, in which later ones may use earlier ones.
    private(set) var variables: [String: String] = [:]

    private enum Part { case before, fields, body }

    private var part = Part.before
    private var current = Request()
    private var number = 0
    private let path: String

    init(_ text: String, path: String) throws(CommandFailure) {
        self.path = path
        // other characters that end lines in Unicode belong to a body
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
        for line in lines {
            number += 1
            let isMarked = number == 1 && line.first == "\u{FEFF}"
            try take(String(isMarked ? line.dropFirst() : line))
        }
        end()
        if requests.isEmpty {
            throw CommandFailure(.usage, "\(path) holds no request: write a line such as GET https://…")
        }
    }

    private func fault(_ text: String) -> CommandFailure { CommandFailure(.usage, "\(path), line \(number): \(text)") }

    private mutating func end() {
        var tail = current.tail
        while tail.hasSuffix("\n") || tail.hasSuffix("\r\n") { tail.removeLast() }
        current.tail = tail
        if !current.url.isEmpty { requests.append(current) }
        current = Request()
        part = .before
    }

    private mutating func take(_ line: String) throws(CommandFailure) {
        let trimmed = line.trimmed
        if line.hasPrefix("###") {
            end()
            current.name = String(line.drop { $0 == "#" }).trimmed
        } else {
            switch part {
            case .before: try takeBefore(trimmed)
            case .fields: try takeField(line, trimmed)
            case .body: try takeBody(line)
            }
        }
    }

    private mutating func takeBefore(_ line: String) throws(CommandFailure) {
        if line.isEmpty { return }
        if line.hasPrefix("#") || line.hasPrefix("//") {
            let comment = String(line.drop { $0 == "#" || $0 == "/" }).trimmed
            if comment.hasPrefix("@name") {
                current.name = String(comment.dropFirst(5).drop { $0 == "=" || $0 == " " })
            }
            if comment.hasPrefix("@no-redirect") { current.followsRedirects = false }
        } else if line.hasPrefix("@") {
            try takeVariable(line)
        } else if line.hasPrefix("<") || line.hasPrefix(">") {
            throw fault("scripts are not run (outrider run sends requests alone)")
        } else {
            try takeRequest(line)
        }
    }

    private mutating func takeVariable(_ line: String) throws(CommandFailure) {
        guard let (name, value) = line.dropFirst().halves(at: "=") else {
            throw fault("\(line) is no variable: write @name = value")
        }
        variables[name.trimmed] = value.trimmed
    }

    private mutating func takeRequest(_ line: String) throws(CommandFailure) {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let usual = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"].first {
            words.count == 2 && $0 == words[0].uppercased()
        }
        let isMethod = words.count == 2 && (usual != nil || words[0].allSatisfy { $0.isUppercase || $0 == "-" })
        if words.count == 2, words[0] == "curl" {
            throw fault("a curl command is no request line (outrider import reads it)")
        }
        current.line = number
        current.method = usual ?? (isMethod ? words[0] : "GET")
        current.url = Self.withoutVersion(isMethod ? words[1].trimmed : line)
        part = .fields
    }

    private static func withoutVersion(_ url: String) -> String {
        let versions = [" HTTP/1.0", " HTTP/1.1", " HTTP/2", " HTTP/2.0"]
        guard let version = versions.first(where: { url.hasSuffix($0) }) else { return url }
        return String(url.dropLast(version.count)).trimmed
    }

    private mutating func takeField(_ line: String, _ trimmed: String) throws(CommandFailure) {
        if trimmed.isEmpty {
            part = .body
        } else if current.fields.isEmpty, line.first?.isWhitespace == true,
            trimmed.hasPrefix("?") || trimmed.hasPrefix("&") || trimmed.hasPrefix("/")
        {
            // a URL goes on over several lines
            current.url += Self.withoutVersion(trimmed)
        } else if !trimmed.hasPrefix("#"), !trimmed.hasPrefix("//") {
            guard trimmed.contains(":") else {
                throw fault("\(trimmed) is no field: write Name: value, or an empty line before the body")
            }
            if trimmed.lowercased().hasPrefix("x-request-type:") {
                throw fault("no GraphQL is made into JSON: write {\"query\": …} as the body, without X-Request-Type")
            }
            current.fields.append(trimmed)
        }
    }

    private mutating func takeBody(_ line: String) throws(CommandFailure) {
        if line.hasPrefix("> {%") || line.hasPrefix("< {%") || line.hasPrefix("> ") && line.hasSuffix(".js") {
            throw fault("scripts are not run (outrider run sends requests alone)")
        }
        guard line.hasPrefix("< ") || line.hasPrefix("<@ ") else {
            if current.body.isEmpty, line.trimmed.isEmpty { return }
            var tail = current.tail
            if tail.isEmpty, !current.body.isEmpty { tail = lineEnd }
            // a form goes on over several lines
            if current.isOfType("application/x-www-form-urlencoded"), line.hasPrefix("&"), tail.hasSuffix("\n") {
                tail.removeLast()
            }
            current.tail = tail + line + lineEnd
            return
        }
        if case .file? = current.body.last { current.tail = lineEnd }
        let isFilled = line.hasPrefix("<@")
        current.body.append(.file(path: String(line.dropFirst(isFilled ? 3 : 2)).trimmed, isFilled: isFilled))
    }

    /// The end of a line of the body: RFC 2046 section 5.1.1 has no other in a multipart body.
    private var lineEnd: String { current.isOfType("multipart/") ? "\r\n" : "\n" }
}

extension RequestFile {
    /// The `auth` for a field such as `Authorization: Basic user password`, with a space or a colon in between; nil for
    /// other fields, and for values that a server takes as they are.
    static func auth(_ field: String) -> JSONObject? {
        guard let (name, text) = field.halves(at: ":"), name.trimmed.lowercased() == "authorization" else { return nil }
        let value = text.trimmed
        let scheme = value.prefix { !$0.isWhitespace }.lowercased()
        let rest = value.drop { !$0.isWhitespace }.trimmed
        guard scheme == "basic" || scheme == "digest", !rest.contains("response="),
            let end = rest.firstIndex(where: { $0 == ":" || $0.isWhitespace })
        else { return nil }
        let password = rest[end] == ":" ? String(rest[rest.index(after: end)...]) : rest[end...].trimmed
        return [scheme: .object(["username": .string(String(rest[..<end])), "password": .string(password)])]
    }
}

extension StringProtocol {
    /// Without white space at both ends.
    fileprivate var trimmed: String {
        let front = drop(while: \.isWhitespace)
        guard let last = front.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(front[...last])
    }
}
