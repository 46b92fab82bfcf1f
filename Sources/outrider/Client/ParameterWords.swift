// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderJSON

/// Parameters from the words of a command line.
enum ParameterWords {
    /// Later words win over earlier ones of the same name.
    static func object(_ words: [String]) throws(CommandFailure) -> JSONObject {
        var object = JSONObject()
        for word in words {
            if word == "-" {
                try merge(try standardInput(), "standard input", into: &object)
            } else if word.hasPrefix("{") || word.hasPrefix("[") {
                try merge(Array(word.utf8), "the text of the parameters", into: &object)
            } else {
                let (name, value) = try pair(word)
                object[name] = value
            }
        }
        return object
    }

    private static func merge(_ text: [UInt8], _ source: String, into object: inout JSONObject) throws(CommandFailure) {
        guard let given = try value(text, source).object else {
            throw CommandFailure(
                .usage, "\(source) must be one JSON object, such as {\"url\":\"https://example.org/\"}")
        }
        for member in given.members { object[member.name] = member.value }
    }

    private static func pair(_ word: String) throws(CommandFailure) -> (String, JSONValue) {
        guard let (name, text) = word.halves(at: "="), !name.isEmpty else {
            throw CommandFailure(.usage, "\(word) is no parameter: write key=text, key:=json, or one JSON object")
        }
        guard name.hasSuffix(":") else { return (name, .string(text)) }
        return (String(name.dropLast()), try value(Array(text.utf8), String(name.dropLast()), isParameter: true))
    }

    private static func value(
        _ text: [UInt8], _ source: String, isParameter: Bool = false
    ) throws(CommandFailure) -> JSONValue {
        do {
            return try JSONParser.parse(text)
        } catch {
            let remedy = isParameter ? " (write \(source)=text for a text)" : ""
            throw CommandFailure(.usage, "\(source) is no JSON: \(error.reason)\(remedy)")
        }
    }

    private static func standardInput() throws(CommandFailure) -> [UInt8] {
        var text: [UInt8] = []
        while let piece = try FileBytes.read(STDIN_FILENO) { text += piece }
        return text
    }
}
