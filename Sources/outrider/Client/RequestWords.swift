// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The URL, the fields and the time of a request, as commands take them.
struct RequestWords {
    var url: String
    var headers: [String]
    var timeout: Double?

    /// The fault of the value of `--timeout`, if any: the bounds come from the contract.
    static func fault(timeout: Double?) -> String? {
        guard let timeout, !(timeout >= 0.001 && timeout <= 86400) else { return nil }
        return "--timeout must be from 0.001 to 86400 seconds"
    }

    func params() throws(CommandFailure) -> JSONObject {
        var params: JSONObject = ["url": .string(ShellURL.complete(url))]
        if !headers.isEmpty { params["headers"] = .array(try Self.fields(headers)) }
        if let timeout { params["timeout"] = .real(timeout) }
        return params
    }

    /// The fields of all words, in their order.
    static func fields(_ words: [String]) throws(CommandFailure) -> [JSONValue] {
        var fields: [JSONValue] = []
        for word in words { fields += try self.fields(word) }
        return fields
    }

    /// A field; or with `@` the fields of a file, a line each, hidden from lists of processes.
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
}
