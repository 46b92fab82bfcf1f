// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The value of a scalar (YAML 1.2.2 section 10.3.2): quoted scalars are texts, plain scalars may be null, booleans and
/// numbers.
enum YAMLWord {
    static func value(_ scalar: YAMLEvents.Scalar) throws(YAMLWordFault) -> JSONValue {
        let text = scalar.text
        guard let tag = scalar.tag, tag != "!" || scalar.isPlain else {
            return scalar.isPlain ? try plain(text) : .string(text)
        }
        switch tag {
        case "!", "tag:yaml.org,2002:str": return .string(text)
        case "tag:yaml.org,2002:null", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float":
            return try plain(text)
        default: throw YAMLWordFault(reason: "the tag \(tag.prefix(80)) is not known: leave it out")
        }
    }

    private static func plain(_ text: String) throws(YAMLWordFault) -> JSONValue {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        case ".inf", "-.inf", "+.inf", ".Inf", "-.Inf", "+.Inf", ".INF", "-.INF", "+.INF", ".nan", ".NaN", ".NAN":
            throw YAMLWordFault(reason: "\(text) is a number that JSON cannot carry")
        default: break
        }
        guard let first = text.utf8.first, first < 0x3A, first != 0x2F else { return .string(text) }
        if text.hasPrefix("0x") || text.hasPrefix("0o") { return try based(text) }
        guard let isReal = numberKind(text) else { return .string(text) }
        if !isReal {
            if let number = Int64(text) { return .integer(number) }
            // integers beyond 64 bits keep their digits, in the grammar of JSON
            let digits = String(text.drop { $0 == "-" || $0 == "+" }.drop { $0 == "0" })
            if let number = Double(digits), number.isFinite {
                return .written((text.hasPrefix("-") ? "-" : "") + digits)
            }
            throw YAMLWordFault(reason: "\(text.prefix(40)) is too large for a number: put it in quotes")
        }
        guard let number = Double(text), number.isFinite else {
            throw YAMLWordFault(reason: "\(text.prefix(40)) is too large for a number: put it in quotes")
        }
        return .real(number)
    }

    private static func based(_ text: String) throws(YAMLWordFault) -> JSONValue {
        let digits = text.dropFirst(2)
        let radix = text.hasPrefix("0x") ? 16 : 8
        let isNumber = !digits.isEmpty && digits.utf8.allSatisfy { Int(String(UnicodeScalar($0)), radix: radix) != nil }
        guard isNumber else { return .string(text) }
        guard let number = Int64(digits, radix: radix) else {
            throw YAMLWordFault(reason: "\(text.prefix(40)) is too large for an integer of 64 bits: put it in quotes")
        }
        return .integer(number)
    }

    /// Whether the number has a fraction or an exponent; nil if not a number:
    /// `[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?`.
    private static func numberKind(_ text: String) -> Bool? {
        var rest = Array(text.utf8)[...]
        func digits() -> Int {
            let count = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
            rest = rest.dropFirst(count)
            return count
        }
        func sign() { if rest.first == 0x2B || rest.first == 0x2D { rest = rest.dropFirst() } }
        sign()
        var count = digits()
        var isReal = false
        if rest.first == 0x2E {
            isReal = true
            rest = rest.dropFirst()
            count += digits()
        }
        guard count > 0 else { return nil }
        if let mark = rest.first, mark | 0x20 == 0x65 {
            isReal = true
            rest = rest.dropFirst()
            sign()
            if digits() == 0 { return nil }
        }
        return rest.isEmpty ? isReal : nil
    }
}
