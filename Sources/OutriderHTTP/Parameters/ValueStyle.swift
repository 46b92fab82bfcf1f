// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The encoding of values without a JSON form, for formats that hold only text.
package struct ValueStyle: Sendable, Equatable {
    package enum Data: String, Sendable, CaseIterable {
        /// RFC 4648 section 4, with padding.
        case base64
        /// RFC 4648 section 5, without padding.
        case base64url
        case hex
        /// The bytes themselves; only where they are percent-encoded.
        case raw
        /// A list of numbers from 0 to 255.
        case bytes
    }

    package enum Date: Sendable, Equatable {
        /// `2001-01-01T00:02:03Z`
        case iso8601
        /// Since 1970: `978307323.456`
        case seconds
        /// Since 1970: `978307323456.0`
        case milliseconds
        /// Seconds since 2001: `123.456`
        case reference
        /// As with `strftime`; see Moment.
        case format(String)
    }

    package var data = Data.base64
    package var date = Date.iso8601

    /// Bytes as numbers; more than a megabyte is refused as a likely mistake.
    static func numbers(_ data: [UInt8]) throws(JSONComplaint) -> [JSONValue] {
        if data.count > 1 << 20 {
            throw JSONComplaint("$data of more than \(1 << 20) bytes cannot be a list of numbers: say base64")
        }
        return data.map { .integer(Int64(truncatingIfNeeded: $0)) }
    }

    /// The text of a date, and whether the text is a number.
    func text(_ moment: Moment) -> (text: String, isNumber: Bool) {
        switch date {
        case .iso8601: (moment.iso8601, false)
        case .seconds: (moment.decimalSeconds(), true)
        case .milliseconds: (moment.decimalMilliseconds, true)
        case .reference: (moment.decimalSeconds(since: Moment.reference), true)
        case .format(let format): (moment.formatted(format), false)
        }
    }
}

/// How the names of members are written.
package enum KeyStyle: Sendable, Equatable {
    case `default`
    /// `myURLProperty` → `my_url_property`
    case snake
    /// `myURLProperty` → `my-url-property`
    case kebab
    /// The first letter: `oneTwo` → `OneTwo`
    case capitalized
    case upper, lower
    /// Renames these members; other names stay unchanged.
    case names([String: String])

    package static let words: [(String, KeyStyle)] = [
        ("default", .default), ("snake", .snake), ("kebab", .kebab), ("capitalized", .capitalized), ("upper", .upper),
        ("lower", .lower),
    ]

    func styled(_ key: String) -> String {
        switch self {
        case .default: key
        case .snake: Self.separated(key, "_")
        case .kebab: Self.separated(key, "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .upper: key.uppercased()
        case .lower: key.lowercased()
        case .names(let names): names[key] ?? key
        }
    }

    /// A word begins with a capital after a small letter or digit, and with the last capital of a run if a small letter
    /// follows.
    private static func separated(_ key: String, _ separator: String) -> String {
        let scalars = Array(key.unicodeScalars)
        // to append several scalars to their view would copy all that is there
        var out = ""
        for (index, scalar) in scalars.enumerated() {
            if index > 0, scalar.properties.isUppercase {
                let before = scalars[index - 1]
                let isNext = index + 1 < scalars.count && scalars[index + 1].properties.isLowercase
                let afterWord = before.properties.isLowercase || before.properties.numericType != nil
                if afterWord || (before.properties.isUppercase && isNext) { out += separator }
            }
            out += scalar.properties.lowercaseMapping
        }
        return out
    }
}
