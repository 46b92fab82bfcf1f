// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON
import OutriderMethods

/// The contract, for people: the methods, a single method, or the whole as JSON.
struct DescribeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Explains a method, an event or a type; without a name, lists the methods.",
        discussion: """
              outrider describe
              outrider describe data.send
              outrider describe RequestSpec
              outrider describe --json > openrpc.json
            """)

    /// The names of the methods, for shells.
    static let names = CompletionKind.shellCommand("outrider describe | sed \"s/ .*//\"")

    @Argument(help: "A method, an event or a type, such as data.send.", completion: DescribeCommand.names)
    var name: String?

    @Flag(name: .long, help: "The whole contract, as an OpenRPC document.")
    var json = false

    func run() throws {
        if json {
            return try StandardOutput.write(Array(OpenRPC.document))
        }
        let contract = try Contract()
        guard let name else { return try StandardOutput.write(Array(try list(contract).utf8)) }
        let page = if let type = contract.type(name) { page(of: type, name) } else { try page(of: name, contract) }
        try StandardOutput.write(Array(page.utf8))
    }

    private func list(_ contract: Contract) throws(CommandFailure) -> String {
        let width = contract.names.map(\.count).max() ?? 0
        var text = ""
        for name in contract.names {
            let summary = try contract.method(name)["summary"]?.string ?? ""
            text += name + String(repeating: " ", count: width + 2 - name.count) + summary + "\n"
        }
        return text
    }

    private func page(of name: String, _ contract: Contract) throws(CommandFailure) -> String {
        if contract.event(name) == nil, !contract.names.contains(name), let similar = contract.similar(name) {
            throw CommandFailure(
                .usage, "there is no method, event or type \(name) (did you mean \(similar)?)")
        }
        let method = if let event = contract.event(name) { event } else { try contract.method(name) }
        var text = "\(name)\n  \(method["summary"]?.string ?? "")\n"
        if let description = method["description"]?.string { text += "  \(description)\n" }
        let parameters = (method["params"]?.array ?? []).compactMap(\.object)
        if !parameters.isEmpty { text += "\nparameters\n" }
        for parameter in parameters { text += self.line(parameter, isRequired: parameter["required"] == .bool(true)) }
        text += self.result(method, contract)
        if method["result"] != nil, let example = method["x-outrider-example"] {
            let written = String(decoding: JSONWriter.bytes(of: example), as: UTF8.self)
            text += "\nexample\n  outrider call \(name) '\(written.replacing("'", with: "'\\''"))'\n"
        }
        return text
    }

    private func result(_ method: JSONObject, _ contract: Contract) -> String {
        let schema = method["result"]?.object?["schema"]?.object ?? [:]
        let type = schema["$ref"]?.string.flatMap { contract.resolve($0) } ?? schema
        let members = members(of: type)
        return members.isEmpty ? "" : "\nresult\n" + members
    }

    private func page(of type: JSONObject, _ name: String) -> String {
        var text = "\(name)\n  \(type["description"]?.string ?? "")\n"
        if let words = type["enum"]?.array {
            text += "  one of \(words.compactMap(\.string).joined(separator: ", "))\n"
        }
        let members = members(of: type)
        return members.isEmpty ? text : text + "\nmembers\n" + members
    }

    private func members(of type: JSONObject) -> String {
        let required = type["required"]?.array ?? []
        return (type["properties"]?.object?.members ?? []).reduce("") { text, member in
            let shown: JSONObject = ["name": .string(member.name), "schema": member.value]
            return text + line(shown, isRequired: required.contains(.string(member.name)))
        }
    }

    /// A member of params or of a result: `url  string, required  Where to.`
    private func line(_ member: JSONObject, isRequired: Bool) -> String {
        let schema = member["schema"]?.object ?? [:]
        var facts = [type(schema)]
        if isRequired { facts.append("required") }
        if let standard = schema["default"] {
            facts.append("default " + String(decoding: JSONWriter.bytes(of: standard), as: UTF8.self))
        }
        let about = member["description"]?.string ?? schema["description"]?.string ?? ""
        return "  \(member["name"]?.string ?? "")  (\(facts.joined(separator: ", ")))\n      \(about)\n"
    }

    private func type(_ schema: JSONObject) -> String {
        if let words = schema["enum"]?.array { return words.compactMap(\.string).joined(separator: "|") }
        if let reference = schema["$ref"]?.string { return String(reference.split(separator: "/").last ?? "") }
        if let choices = schema["anyOf"]?.array {
            return choices.compactMap { $0.object.map(type) }.joined(separator: "|")
        }
        return schema["type"]?.string ?? "any JSON"
    }
}
