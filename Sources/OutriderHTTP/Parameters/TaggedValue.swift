// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A value without a JSON form, written as an object with a single member: `{"$data":"<base64>"}`,
/// `{"$date":978307323.456}` (seconds since 1970, or RFC 3339 text), `{"$decimal":"1.10"}`.
package enum TaggedValue: Sendable, Equatable {
    case data([UInt8])
    case date(Moment)
    case decimal(DecimalNumber)

    /// Nil for an object without a tag; a complaint for a tag whose value makes no sense.
    package init?(_ object: JSONObject) throws(JSONComplaint) {
        guard object.members.count == 1, let member = object.members.first, member.name.utf8.first == UInt8(ascii: "$")
        else { return nil }
        do throws(JSONComplaint) {
            switch member.name {
            case "$data": self = .data(try Self.data(member.value))
            case "$date": self = .date(try Self.date(member.value))
            case "$decimal": self = .decimal(try Self.decimal(member.value))
            default: return nil
            }
        } catch {
            throw error.under(member: member.name)
        }
    }

    private static func data(_ value: JSONValue) throws(JSONComplaint) -> [UInt8] {
        guard let text = value.string, let bytes = Base64.decode(text) else {
            throw JSONComplaint("$data must be base64 with the standard alphabet and without line breaks")
        }
        return bytes
    }

    private static func date(_ value: JSONValue) throws(JSONComplaint) -> Moment {
        let moment = value.numberText.flatMap { DecimalNumber($0) }.flatMap { Moment($0) }
        if let moment = moment ?? value.string.flatMap({ Moment($0) }) { return moment }
        throw JSONComplaint("$date must be seconds since 1970 or RFC 3339 text, in the years 1 to 9999")
    }

    private static func decimal(_ value: JSONValue) throws(JSONComplaint) -> DecimalNumber {
        if let number = (value.numberText ?? value.string).flatMap({ DecimalNumber($0) }) { return number }
        throw JSONComplaint("$decimal must be a decimal number, such as \"1.10\"")
    }
}

extension JSONValue {
    /// The text of a number; nil for other values.
    var numberText: String? {
        switch self {
        case .integer(let number): number.description
        case .real(let number): number.description
        case .written(let text): text
        default: nil
        }
    }
}
