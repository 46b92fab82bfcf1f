// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// The request that a command line asks for.
struct RequestWords {
    var url: String
    var method: String?
    var headers: [String]
    var data: String?
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
            "method": .string(method ?? (data == nil ? "GET" : "POST")),
        ]
        if !headers.isEmpty { params["headers"] = .array(try headers.map(Self.header)) }
        if let data {
            params["body"] = .object(try body(data))
            if method == "GET" || method == "HEAD" { params["allowGetBody"] = .bool(true) }
        }
        if let timeout { params["timeout"] = .real(timeout) }
        return params
    }

    private static func header(_ line: String) throws(CommandFailure) -> JSONValue {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw CommandFailure(.usage, "\(line) is no field: write -H 'Name: value'")
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        return .object(["name": .string(String(line[..<colon])), "value": .string(String(value))])
    }

    /// Files are read by the service as they are; pipes, which only we have, are read here.
    private func body(_ data: String) throws(CommandFailure) -> JSONObject {
        let type = JSONValue.string(isJSON ? "application/json" : "application/x-www-form-urlencoded")
        guard data.hasPrefix("@") else { return ["text": .string(data), "contentType": type] }
        let content = data == "@-" ? try StandardInput.read() : try Self.content(of: String(data.dropFirst()))
        switch content {
        case .bytes(let bytes): return ["base64": .string(Base64.encode(bytes)), "contentType": type]
        case .file(let path): return ["file": .string(path), "contentType": type]
        }
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
