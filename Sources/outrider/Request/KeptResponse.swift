// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The response to a named request of a file, which later requests refer to as the REST Client of VS Code does:
/// `{{login.response.body.$.token}}`, `{{login.response.body.*}}`, `{{login.response.headers.Location}}`.
final class KeptResponse {
    private static let mostBytes = 8 << 20

    private var head = JSONObject()
    private var body: [UInt8] = []

    func begin(_ response: JSONObject) { (head, body) = (response, []) }

    /// Bytes behind the limit are left out, and references to such a body are refused.
    func add(_ bytes: [UInt8]) {
        if body.count <= Self.mostBytes { body += bytes }
    }

    /// - Parameter reference: the text after `response.`.
    func value(_ reference: Substring) throws(CommandFailure) -> String {
        if reference.hasPrefix("headers.") { return try field(reference.dropFirst("headers.".count)) }
        guard reference == "body" || reference.hasPrefix("body.") else {
            throw CommandFailure(.usage, "response.\(reference): name body.$.member, body.* or headers.NAME")
        }
        guard body.count <= Self.mostBytes else {
            throw CommandFailure(.usage, "response.\(reference): the body is longer than \(Self.mostBytes) bytes")
        }
        let path = reference.dropFirst("body.".count)
        if path.isEmpty || path == "*" { return String(decoding: body, as: UTF8.self) }
        return try member(path)
    }

    private func field(_ name: Substring) throws(CommandFailure) -> String {
        for field in head["headers"]?.array ?? [] where field.object?["name"]?.string?.lowercased() == name.lowercased()
        {
            return field.object?["value"]?.string ?? ""
        }
        throw CommandFailure(.usage, "the response has no field \(name)")
    }

    private func member(_ path: Substring) throws(CommandFailure) -> String {
        var value: JSONValue
        do {
            value = try JSONParser.parse(body, limits: .generous)
        } catch {
            throw CommandFailure(.usage, "response.body.\(path): the body is no JSON: \(error.reason)")
        }
        for name in try Self.names(path) {
            let next =
                if let object = value.object { object[name] } else if let values = value.array, let index = Int(name) {
                    values.indices.contains(index) ? values[index] : nil
                } else { nil as JSONValue? }
            guard let next else { throw CommandFailure(.usage, "response.body.\(path): the body has no \(name)") }
            value = next
        }
        return value.string ?? String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
    }

    /// The names and indexes of a path such as `$.wolves[0].name` or `$['a b']`: RFC 9535 without wildcards and filters.
    private static func names(_ path: Substring) throws(CommandFailure) -> [String] {
        var names: [String] = []
        var rest = path.hasPrefix("$") ? path.dropFirst() : "." + path
        while let mark = rest.popFirst() {
            if mark == "." {
                names.append(String(rest.prefix { $0 != "." && $0 != "[" }))
                rest = rest.drop { $0 != "." && $0 != "[" }
            } else if mark == "[", let end = rest.firstIndex(of: "]") {
                names.append(String(rest[..<end]).trimmingQuotes)
                rest = rest[rest.index(after: end)...]
            } else {
                names = []
                break
            }
            if names.last?.isEmpty != false || names.last == "*" {
                names = []
                break
            }
        }
        guard !names.isEmpty || path == "$" else {
            throw CommandFailure(.usage, "response.body.\(path): write $.member, $.list[0] or $['a name']")
        }
        return names
    }
}

extension String {
    fileprivate var trimmingQuotes: String {
        guard count >= 2, let first, first == "'" || first == "\"", last == first else { return self }
        return String(dropFirst().dropLast())
    }
}
