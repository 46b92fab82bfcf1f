// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The URL, the fields and the time of a request, as commands take them.
struct RequestWords {
    var url: String
    var headers: [String] = []
    var timeout: Double?
    var isDownload = false

    /// The fault of the value of `--timeout`, if any: the bounds come from the contract, and curl takes 0 for no limit.
    static func fault(timeout: Double?) -> String? {
        guard let timeout, timeout != 0, !(timeout >= 0.001 && timeout <= 86400) else { return nil }
        return "--timeout must be from 0.001 to 86400 seconds, or 0 for no limit"
    }

    func params() throws(CommandFailure) -> JSONObject {
        var params: JSONObject = ["url": .string(ShellURL.complete(url))]
        try Self.fields(headers).add(to: &params, isDownload: isDownload)
        if let timeout, timeout > 0 { params["timeout"] = .real(timeout) }
        return params
    }

    /// The fields of all words, in their order.
    static func fields(_ words: [String]) throws(CommandFailure) -> FieldWords {
        var fields = FieldWords()
        for word in words { try add(word, to: &fields) }
        return fields
    }

    /// Adds a field; or with `@` the fields of a file, a line each, hidden from lists of processes.
    private static func add(_ word: String, to fields: inout FieldWords) throws(CommandFailure) {
        guard word.hasPrefix("@") else {
            return try add(word[...], to: &fields, "\(word) is no field: write -H 'Name: value', or -H @file")
        }
        let name = String(word.dropFirst())
        let text = try StandardInput.text(fieldBytes(name), of: name == "-" ? "standard input" : name)
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) || line.hasPrefix("#") { continue }
            try add(line, to: &fields, "line \(number + 1) of \(name) is no field: write Name: value")
        }
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

    /// Adds `Name: value`, the empty field `Name;` or the removal `Name:`.
    private static func add(
        _ line: Substring, to fields: inout FieldWords, _ fault: String
    ) throws(CommandFailure) {
        // a colon before a combining mark is a colon
        let scalars = line.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            guard line.count > 1, line.hasSuffix(";") else { throw CommandFailure(.usage, fault) }
            return fields.add(line.dropLast(), "")
        }
        guard colon != line.startIndex else { throw CommandFailure(.usage, fault) }
        let value = Substring(scalars[scalars.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
        fields.add(line[..<colon], value.isEmpty ? nil : value)
    }
}
