// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// Fills `{{name}}` in the texts of a request file: variables of the command line and the file, and the system variables of the
/// REST Client.
struct RequestVariables {
    /// Values of the command line have precedence over values of the file.
    let values: [String: String]
    /// The responses to named requests.
    var responses: [String: KeptResponse] = [:]
    /// Leaves references to responses as they stand, where nothing is sent.
    var leavesResponses = false

    /// Variables inside variables, at most.
    private static let mostDepth = 16

    init(file: [String: String], given: [String]) throws(CommandFailure) {
        var values = file
        for word in given {
            guard let (name, value) = word.halves(at: "="), !name.isEmpty else {
                throw CommandFailure(.usage, "\(word) is no variable: write --variable name=value")
            }
            values[name] = value
        }
        self.values = values
    }

    func filled(_ text: String, depth: Int = 0) throws(CommandFailure) -> String {
        guard depth < Self.mostDepth else { throw CommandFailure(.usage, "a variable stands for itself: \(text)") }
        var filled = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "{", rest.first == "{", let end = rest.firstIndex(of: "}"),
                rest[end...].hasPrefix("}}")
            else {
                filled.append(character)
                continue
            }
            let name = Self.trimmed(rest[rest.index(after: rest.startIndex)..<end])
            filled += try value(name, depth: depth)
            rest = rest[rest.index(end, offsetBy: 2)...]
        }
        return filled
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    private func value(_ name: String, depth: Int) throws(CommandFailure) -> String {
        if let value = values[name] { return try filled(value, depth: depth + 1) }
        if let response = try response(name) { return response }
        let words = name.split(separator: " ").map(String.init)
        switch words.first {
        case "$timestamp": return String(time(nil))
        case "$guid", "$uuid": return Self.identifier
        case "$randomInt":
            let bounds = words.dropFirst().compactMap { Int($0) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { break }
            return String(Int.random(in: bounds[0]..<bounds[1]))
        case "$processEnv", "$env":
            guard words.count == 2 else { break }
            if let value = environmentVariable(words[1]) { return value }
            throw CommandFailure(.usage, "the variable \(words[1]) of the environment is not set")
        default: break
        }
        throw CommandFailure(
            .usage, "nothing sets {{\(name)}}: write @\(name) = … in the file, or --variable \(name)=…")
    }

    /// A part of an earlier response; nil if the name means something else.
    private func response(_ name: String) throws(CommandFailure) -> String? {
        guard let place = name.firstRange(of: ".response.") else { return nil }
        if leavesResponses { return "{{\(name)}}" }
        let request = String(name[..<place.lowerBound])
        if let kept = responses[request] { return try kept.value(name[place.upperBound...]) }
        throw CommandFailure(
            .usage, "{{\(name)}}: no request \(request) was sent before (name it with `# @name`, and send it first)")
    }

    /// A random UUID (RFC 9562 section 5.4).
    private static var identifier: String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { HexText.encode(bytes[$0]) }.joined(separator: "-")
    }
}
