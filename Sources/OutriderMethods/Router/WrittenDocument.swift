// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderYAML

/// A document that people wrote, JSON or YAML, as a value.
enum WrittenDocument {
    /// The largest public API description in JSON has some 12 MB.
    static let maximumBytes = 32 << 20

    /// Throws a complaint that names the line. JSON begins with a brace; all else is read as YAML.
    static func parse(_ bytes: [UInt8]) throws(JSONComplaint) -> JSONValue {
        let first = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        guard first == UInt8(ascii: "{") else {
            do throws(YAMLFault) {
                return try YAMLDocument.parse(bytes)
            } catch {
                throw JSONComplaint("line \(error.line): \(error.reason)", at: error.pointer)
            }
        }
        var limits = JSONLimits()
        limits.tokens = 2_000_000
        limits.members = 100_000
        limits.hasLongIntegers = true
        do throws(JSONFailure) {
            return try JSONParser.parse(bytes, limits: limits)
        } catch {
            let line = bytes.prefix(error.offset).count { $0 == 0x0A } + 1
            throw JSONComplaint("line \(line): \(error.reason)", at: error.pointer)
        }
    }
}
