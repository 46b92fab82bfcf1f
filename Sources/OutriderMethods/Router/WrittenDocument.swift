// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderYAML

/// A document that people wrote, JSON or YAML, as a value.
enum WrittenDocument {
    /// The largest public API description in JSON has some 12 MB.
    static let maximumBytes = 32 << 20

    /// Throws a complaint that names the line.
    ///
    /// JSON begins with a brace. What is no JSON is read as YAML, of which JSON is a part: it also takes the integers of
    /// more than 64 bits that descriptions of APIs have as limits.
    static func parse(_ bytes: [UInt8]) throws(JSONComplaint) -> JSONValue {
        let first = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        guard first == UInt8(ascii: "{") else { return try yaml(bytes) }
        var limits = JSONLimits()
        limits.tokens = 2_000_000
        limits.members = 100_000
        do throws(JSONFailure) {
            return try JSONParser.parse(bytes, limits: limits)
        } catch {
            if let value = try? yaml(bytes) { return value }
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw JSONComplaint("line \(line): \(error.reason)", at: error.pointer)
        }
    }

    private static func yaml(_ bytes: [UInt8]) throws(JSONComplaint) -> JSONValue {
        var limits = YAMLLimits()
        limits.roundsLargeIntegers = true
        do throws(YAMLFault) {
            return try YAMLDocument.parse(bytes, limits: limits)
        } catch {
            throw JSONComplaint("line \(error.line): \(error.reason)", at: error.pointer)
        }
    }
}
