// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The supported formats, checked if the schema was compiled with `formats`; others are ignored, as the standard
/// requires.
enum SchemaFormat: String, Sendable {
    case dateTime = "date-time"
    case date, time, duration, email, hostname, ipv4, ipv6, uri, uuid, regex, byte, int32, int64
    case uriReference = "uri-reference"
    case jsonPointer = "json-pointer"
    case relativeJSONPointer = "relative-json-pointer"

    init?(name: String) {
        guard let format = SchemaFormat(rawValue: name) else { return nil }
        self = format
    }

    /// The format in a sentence.
    var spoken: String {
        switch self {
        case .dateTime: "a date and time such as 2030-01-31T23:59:59Z"
        case .date: "a date such as 2030-01-31"
        case .time: "a time such as 23:59:59Z"
        case .duration: "a duration such as P1DT12H"
        case .email: "an e-mail address"
        case .hostname: "a host name"
        case .ipv4: "an IPv4 address"
        case .ipv6: "an IPv6 address"
        case .uri: "an absolute URI"
        case .uriReference: "a URI reference"
        case .uuid: "a UUID"
        case .regex: "a regular expression that takes linear time"
        case .byte: "base64"
        case .int32: "an integer of 32 bits"
        case .int64: "an integer of 64 bits"
        case .jsonPointer: "a JSON pointer"
        case .relativeJSONPointer: "a relative JSON pointer"
        }
    }

    /// Formats for texts accept all values that are not texts, and formats for numbers all that are not numbers.
    func fits(_ value: JSONValue) -> Bool {
        switch (self, value.rounded) {
        case (.int32, .integer(let number)): Int32(exactly: number) != nil
        case (.int32, .real(let number)): Int32(exactly: number) != nil
        case (.int64, .real(let number)): Int64(exactly: number) != nil
        case (.int32, _), (.int64, _): true
        case (_, .string(let text)): fits(text)
        default: true
        }
    }

    private func fits(_ text: String) -> Bool {
        let bytes = Array(text.utf8)[...]
        switch self {
        case .dateTime: return TimeTexts.isDateTime(bytes)
        case .date: return TimeTexts.isDate(bytes)
        case .time: return TimeTexts.isTime(bytes)
        case .duration: return TimeTexts.isDuration(bytes)
        case .email: return AddressTexts.isEmail(bytes)
        case .hostname: return AddressTexts.isHostName(bytes)
        case .ipv4: return AddressTexts.isIPv4(bytes)
        case .ipv6: return AddressTexts.isIPv6(bytes)
        case .uri: return AddressTexts.isURIReference(bytes) && URIText.schemeEnd(text) != nil
        case .uriReference: return AddressTexts.isURIReference(bytes)
        case .uuid: return AddressTexts.isUUID(bytes)
        case .regex: return (try? LinearPattern(text)) != nil
        case .byte: return Base64.decode(text) != nil
        case .jsonPointer: return JSONPointer(written: text) != nil
        case .relativeJSONPointer: return AddressTexts.isRelativePointer(text)
        case .int32, .int64: return true
        }
    }
}
