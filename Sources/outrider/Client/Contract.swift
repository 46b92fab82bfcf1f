// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderMethods
import OutriderRPC

/// The contract that is built in: finds misspelt names before anything is sent.
struct Contract {
    private let methods: [JSONValue]
    private let document: JSONObject

    init() throws(CommandFailure) {
        let parsed = try? JSONParser.parse(OpenRPC.document, limits: .generous)
        guard let document = parsed?.object, let methods = document["methods"]?.array else {
            throw CommandFailure(.error, "the contract that is built in cannot be read")
        }
        self.document = document
        self.methods = methods
    }

    var names: [String] { methods.compactMap { $0.object?["name"]?.string } }

    /// The method's description. Throws `usage`, with similar names.
    func method(_ name: String) throws(CommandFailure) -> JSONObject {
        for case .object(let method) in methods where method["name"]?.string == name { return method }
        let family = names.filter { $0.hasPrefix(name + ".") }
        if !family.isEmpty {
            throw CommandFailure(
                .usage, "\(name) is a family of methods (choose one: \(family.joined(separator: ", ")))")
        }
        throw CommandFailure(
            .usage, "there is no method \(name)\(Habits.hint(for: name, among: names)); outrider describe lists them")
    }

    /// Refuses a method or parameters that are not known, and says which are needed.
    static func check(_ params: JSONObject, for name: String) throws(CommandFailure) {
        let method =
            if let found = ContractExcerpt.method(name) { found } else { try Contract().method(name) }
        if method["x-outrider-open"] == .bool(true) { return }
        let known = (method["params"]?.array ?? []).compactMap(\.object)
        let names = known.compactMap { $0["name"]?.string }
        for member in params.members where member.name != "_meta" && !names.contains(member.name) {
            let all = names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))"
            throw CommandFailure(
                .usage, "\(name) has no parameter \(member.name)\(Habits.hint(for: member.name, among: names)); \(all)")
        }
        for parameter in known {
            guard let name = parameter["name"]?.string, case .string(let text)? = params[name],
                let value = try? JSONParser.parse(Array(text.utf8)), value.string == nil,
                try !Contract().admitsText(parameter["schema"] ?? .null)
            else { continue }
            throw CommandFailure(.usage, "\(name) takes no text (write \(name):=\(text))")
        }
        for parameter in known where parameter["required"] == .bool(true) {
            guard let needed = parameter["name"]?.string, params[needed] ?? .null == .null else { continue }
            throw CommandFailure(.usage, "\(name) needs the parameter \(needed); see: outrider describe \(name)")
        }
    }

    /// Whether a schema may accept a text: false only if each alternative names other types.
    private func admitsText(_ schema: JSONValue, depth: Int = 0) -> Bool {
        guard let schema = schema.object, depth < 8 else { return true }
        if let reference = schema["$ref"]?.string {
            return resolve(reference).map { admitsText(.object($0), depth: depth + 1) } ?? true
        }
        for name in ["anyOf", "oneOf"] {
            if let choices = schema[name]?.array { return choices.contains { admitsText($0, depth: depth + 1) } }
        }
        if let type = schema["type"]?.string { return type == "string" }
        if let types = schema["type"]?.array { return types.contains(.string("string")) }
        return true
    }

    /// The method, event or type with a similar name; nil if there is none, and for a family of methods.
    func similar(_ name: String) -> String? {
        if names.contains(where: { $0.hasPrefix(name + ".") }) { return nil }
        let types = document["components"]?.object?["schemas"]?.object?.members.map(\.name) ?? []
        let all = ["x-outrider-events", "x-outrider-callbacks"].flatMap { document[$0]?.array ?? [] }
        let events = all.compactMap { $0.object?["name"]?.string }
        return NameSuggestions.of(name, among: names + types + events).first
    }

    /// An event or a callback.
    func event(_ name: String) -> JSONObject? {
        let all = ["x-outrider-events", "x-outrider-callbacks"].flatMap { document[$0]?.array ?? [] }
        return all.compactMap(\.object).first { $0["name"]?.string == name }
    }

    func type(_ name: String) -> JSONObject? {
        name.isEmpty || name.contains("/") ? nil : resolve("#/components/schemas/\(name)")
    }

    /// The target of a `$ref`.
    func resolve(_ reference: String) -> JSONObject? {
        var value = JSONValue.object(document)
        for part in reference.split(separator: "/").dropFirst() {
            guard let next = value.object?[String(part)] else { return nil }
            value = next
        }
        return value.object
    }
}
