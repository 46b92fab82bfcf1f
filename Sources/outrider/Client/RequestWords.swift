// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The request that a command line asks for.
struct RequestWords {
    var url: String
    var method: String?
    var headers: [String]
    /// The pieces of `--data`, in their order; empty for a request without a body.
    var data: [String]
    /// What the data is sent as; a form otherwise, as curl has it, unless a header says so.
    var isJSON = false
    var timeout: Double?

    /// What is wrong with the value of `--timeout`, if anything is: the bounds are those of the contract.
    static func fault(timeout: Double?) -> String? {
        guard let timeout, !(timeout >= 0.001 && timeout <= 86400) else { return nil }
        return "--timeout must be from 0.001 to 86400 seconds"
    }

    func params() throws(CommandFailure) -> JSONObject {
        var params: JSONObject = [
            "url": .string(url),
            "method": .string(method ?? (data.isEmpty ? "GET" : "POST")),
        ]
        if !headers.isEmpty {
            var fields: [JSONValue] = []
            for word in headers { fields += try Self.fields(word) }
            params["headers"] = .array(fields)
        }
        if !data.isEmpty {
            params["body"] = .object(try body(data))
            if method == "GET" || method == "HEAD" { params["allowGetBody"] = .bool(true) }
        }
        if let timeout { params["timeout"] = .real(timeout) }
        return params
    }

    /// One field, or with `@` those of a file, a line each, where no list of processes shows them.
    private static func fields(_ word: String) throws(CommandFailure) -> [JSONValue] {
        guard word.hasPrefix("@") else {
            return [try header(word, "\(word) is no field: write -H 'Name: value', or -H @file")]
        }
        let name = String(word.dropFirst())
        let text = String(decoding: try fieldBytes(name), as: UTF8.self)
        var fields: [JSONValue] = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) { continue }
            fields.append(try header(String(line), "line \(number + 1) of \(name) is no field: write Name: value"))
        }
        return fields
    }

    private static func fieldBytes(_ name: String) throws(CommandFailure) -> [UInt8] {
        if name == "-" { return try StandardInput.whole(most: mostFieldBytes) }
        let file = open(name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.usage, "cannot read \(name): \(systemError(errno))") }
        defer { close(file) }
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(file) {
            bytes += piece
            if bytes.count > mostFieldBytes { throw CommandFailure(.usage, "\(name) is too long for header fields") }
        }
        return bytes
    }

    private static let mostFieldBytes = 1 << 20

    /// How often standard input is read for a field, a body or a password: once at most.
    static func fault(headers: [String], data: [String], asks: Bool) -> String? {
        let readers = (headers + data).count { $0 == "@-" } + (asks ? 1 : 0)
        return readers > 1
            ? "standard input can be read once: for the body, the fields or the password (--netrc has passwords, too)"
            : nil
    }

    private static func header(_ line: String, _ fault: String) throws(CommandFailure) -> JSONValue {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw CommandFailure(.usage, fault)
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        return .object(["name": .string(String(line[..<colon])), "value": .string(String(value))])
    }

    /// One file is read by the service as it is; pipes, which only this process has, are read here.
    private func body(_ pieces: [String]) throws(CommandFailure) -> JSONObject {
        let type = JSONValue.string(isJSON ? "application/json" : "application/x-www-form-urlencoded")
        guard pieces.contains(where: { $0.hasPrefix("@") }) else {
            return ["text": .string(pieces.joined(separator: "&")), "contentType": type]
        }
        guard pieces.count == 1, let data = pieces.first else {
            return ["base64": .string(Base64.encode(try Self.joined(pieces))), "contentType": type]
        }
        let content = data == "@-" ? try StandardInput.read() : try Self.content(of: String(data.dropFirst()))
        switch content {
        case .bytes(let bytes): return ["base64": .string(Base64.encode(bytes)), "contentType": type]
        case .file(let path): return ["file": .string(path), "contentType": type]
        }
    }

    /// Texts and files in their order, with `&` between them, as curl joins repeated data.
    private static func joined(_ pieces: [String]) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            if piece.hasPrefix("@") {
                bytes += try StandardInput.bytes(of: String(piece.dropFirst()))
            } else {
                bytes += piece.utf8
            }
        }
        return bytes
    }

    private static func content(of name: String) throws(CommandFailure) -> StandardInput.Content {
        var info = stat()
        let file = open(name, O_RDONLY | O_CLOEXEC)
        guard file >= 0, fstat(file, &info) == 0 else {
            throw CommandFailure(.usage, "cannot read \(name): \(systemError(errno))")
        }
        defer { close(file) }
        // what has no name of its own, the service cannot open
        guard info.st_mode & S_IFMT == S_IFREG, let path = realpath(name, nil) else {
            return try StandardInput.read(file)
        }
        defer { free(path) }
        return .file(String(cString: path))
    }
}
