// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto
internal import OutriderJSON

/// Which parts of a request a cassette compares. Default: method, URL with its query as a sorted list, body.
package struct RequestMatcher: Sendable {
    /// Fields that must be equal, beside Range.
    package var fields: [String] = []
    package var comparesHost = true
    package var comparesBody = true
    /// Parameters of the query, members of forms, and pointers into JSON bodies that are left out.
    package var ignoredQuery: Set<String> = []
    package var ignoredBody: [String] = []

    package init() {}

    /// Whether requests are equal if their methods and URLs are, and they have neither body nor Range.
    var isUsual: Bool { fields.isEmpty && comparesHost && comparesBody && ignoredQuery.isEmpty }

    /// The parts of a request in the form in which they are compared.
    package struct Key: Sendable, Hashable {
        var method: String
        var origin: String
        var path: String
        /// Sorted.
        var query: [String]
        var fields: [ByteText]
        /// In place of a long one, its SHA-256.
        var body: [UInt8]
    }

    private static let longestKept = 256

    /// The request without the fields that are not compared.
    package func compared(_ request: ReplayRequest) -> ReplayRequest {
        var request = request
        request.fields = HTTPFields(
            request.fields.list.filter { field in
                HTTPFields.same(field.name, "Content-Type") || HTTPFields.same(field.name, "Range")
                    || fields.contains { HTTPFields.same(field.name, $0) }
            })
        return request
    }

    /// - Parameter request: without its secrets.
    package func key(of request: ReplayRequest) -> Key {
        let parts = URLParts(String(decoding: Self.withPlainMasks(Array(request.url.utf8)), as: UTF8.self))
        var query: [String] = []
        for text in parts.query?.split(separator: "&") ?? [] {
            let pair = Pair(text.utf8)
            if ignoredQuery.contains(where: { $0.utf8.elementsEqual(pair.nameBytes) }) { continue }
            query.append(pair.canonical())
        }
        query.sort()
        return Key(
            method: request.method, origin: comparesHost ? parts.origin.lowercased() : "",
            path: parts.path.isEmpty ? "/" : String(parts.path), query: query,
            fields: (["Range"] + fields).map { ByteText(request.fields.all($0).joined(separator: ", ")) },
            body: comparesBody ? Self.short(body(Self.withPlainMasks(request.body), request.contentType)) : [])
    }

    /// A mask as programs encode it that have got it in place of a secret: in percent-encoding, base64 and hex.
    private static let encodedMasks = ["%2A%2A%2A", "%2a%2a%2a", "Kioq", "2a2a2a", "2A2A2A"].map { Array($0.utf8) }

    /// The text with plain masks in place of encoded ones: the recorded run has a plain mask for the encoded secret.
    private static func withPlainMasks(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var (copied, index) = (0, 0)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "%"), UInt8(ascii: "K"), UInt8(ascii: "2"):
                let rest = bytes[index...]
                guard let form = encodedMasks.first(where: { rest.starts(with: $0) }) else { break }
                result += bytes[copied..<index]
                result += SecretFields.mask.utf8
                copied = index + form.count
                index = copied
                continue
            default: break
            }
            index += 1
        }
        return copied == 0 ? bytes : result + bytes[copied...]
    }

    private static func short(_ body: [UInt8]) -> [UInt8] {
        // a body as long as a digest is hashed, too, so that it equals no digest
        body.count <= longestKept && body.count != SHA256.byteCount ? body : Array(SHA256.hash(data: body))
    }

    /// A pair of a query or a form, decoded.
    private struct Pair {
        let nameBytes: [UInt8]
        /// Nil for a name alone.
        private let value: [UInt8]?

        init(_ text: some Collection<UInt8>) {
            let bytes = Array(text)
            let equals = bytes.firstIndex(of: UInt8(ascii: "="))
            nameBytes = Self.decoded(bytes[..<(equals ?? bytes.count)])
            value = equals.map { Self.decoded(bytes[$0...].dropFirst()) }
        }

        private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            PercentEncoding.decode(bytes.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 })
        }

        var name: String { String(decoding: nameBytes, as: UTF8.self) }

        /// Bytes that stand for themselves in the text of a pair.
        private static let plain = PercentEncoding(keeping: "!$'()*,-./:;?@[]_`{|}~")

        /// The pair with each byte written in one way: other bytes, and another end of the name, are another text.
        ///
        /// - Parameter hasValue: whether a name alone has an empty value.
        func canonical(hasValue: Bool = false) -> String {
            var bytes: [UInt8] = []
            Self.plain.append(nameBytes[...], to: &bytes)
            if hasValue || value != nil { bytes.append(UInt8(ascii: "=")) }
            Self.plain.append((value ?? [])[...], to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    // MARK: bodies

    /// JSON by value, forms by their pairs, multipart without its boundary, others byte by byte.
    private func body(_ bytes: [UInt8], _ contentType: String?) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let type = contentType.flatMap(MediaType.init(parsing:))
        let subtype = type?.subtype ?? ""
        if subtype == "x-www-form-urlencoded" {
            let pairs = bytes.split(separator: UInt8(ascii: "&")).map { Pair($0) }
            let kept = pairs.filter { pair in
                !ignoredBody.contains { $0.utf8.elementsEqual([UInt8(ascii: "/")] + pair.nameBytes) }
            }
            return Array(kept.map { $0.canonical(hasValue: true) }.sorted().joined(separator: "&").utf8)
        }
        if subtype == "json" || subtype.hasSuffix("+json"), let json = Self.json(bytes) {
            var writer = CanonicalJSON()
            writer.write(removing(from: json))
            return writer.bytes
        }
        if type?.type == "multipart", let boundary = type?[parameter: "boundary"], !boundary.isEmpty {
            return Self.without(boundary, bytes)
        }
        return bytes
    }

    private static let mostJSON = 4 << 20

    private static func json(_ bytes: [UInt8]) -> JSONValue? {
        guard bytes.count <= mostJSON else { return nil }
        return try? JSONParser.parse(bytes)
    }

    private func removing(from json: JSONValue) -> JSONValue {
        var json = json
        for pointer in ignoredBody where pointer.hasPrefix("/") { json.remove(JSONValue.tokens(of: pointer)[...]) }
        return json
    }

    private static func without(_ boundary: String, _ bytes: [UInt8]) -> [UInt8] {
        let mark = Array(boundary.utf8)
        var result: [UInt8] = []
        var rest = bytes[...]
        while let range = rest.firstRange(of: mark) {
            result += rest[..<range.lowerBound]
            rest = rest[range.upperBound...]
        }
        return result + rest
    }

    /// Whether two messages mean the same: JSON by value, others byte by byte.
    package static func areSame(_ one: [UInt8], _ two: [UInt8]) -> Bool {
        if one == two { return true }
        guard let first = json(one), let second = json(two) else { return false }
        return first.isSame(as: second)
    }

    // MARK: what differs

    /// What differs between two requests, one phrase for each part; the recorded value first.
    ///
    /// - Parameter place: the file with the body of the recorded request, if that is not in memory.
    func differences(_ recorded: ReplayRequest, at place: String?, _ wanted: ReplayRequest) -> [String] {
        let (one, two) = (key(of: recorded), key(of: wanted))
        var found: [String] = []
        func compare(_ name: String, _ one: String, _ two: String) {
            if ByteText(one) != ByteText(two) {
                found.append("\(name): \(Self.shown(one)) recorded, \(Self.shown(two)) requested")
            }
        }
        compare("method", one.method, two.method)
        compare("host", one.origin, two.origin)
        compare("path", one.path, two.path)
        if one.query != two.query {
            let missing = one.query.filter { !two.query.contains($0) }
            let added = two.query.filter { !one.query.contains($0) }
            compare("query", missing.joined(separator: "&"), added.joined(separator: "&"))
        }
        for (index, name) in (["Range"] + fields).enumerated() {
            compare(name, one.fields[index].text, two.fields[index].text)
        }
        if let place { found.append("body: that of \(place) recorded, \(wanted.body.count) bytes requested") }
        if place == nil, one.body != two.body { found.append(bodyDifference(recorded, wanted)) }
        return found
    }

    private func bodyDifference(_ recorded: ReplayRequest, _ wanted: ReplayRequest) -> String {
        if let one = Self.json(recorded.body), let two = Self.json(wanted.body),
            let place = Self.firstDifference(removing(from: one), removing(from: two), "")
        {
            return "body at \(place)"
        }
        func text(_ bytes: [UInt8]) -> String {
            guard bytes.count <= 1024, let text = String(validating: bytes, as: UTF8.self) else {
                return "\(bytes.count) bytes"
            }
            return Self.shown(text)
        }
        return "body: \(text(recorded.body)) recorded, \(text(wanted.body)) requested"
    }

    /// The first place at which two values differ, with both values.
    private static func firstDifference(_ one: JSONValue, _ two: JSONValue, _ place: String) -> String? {
        switch (one, two) {
        case (.object(let first), .object(let second)):
            for member in first.members {
                guard let other = second[member.name] else {
                    return "\(place)/\(member.name): recorded, and not requested"
                }
                if let found = firstDifference(member.value, other, "\(place)/\(member.name)") { return found }
            }
            let extra = second.members.first { first[$0.name] == nil }
            return extra.map { "\(place)/\($0.name): requested, and not recorded" }
        case (.array(let first), .array(let second)) where first.count == second.count:
            for (index, pair) in zip(first, second).enumerated() {
                if let found = firstDifference(pair.0, pair.1, "\(place)/\(index)") { return found }
            }
            return nil
        default:
            if one.isSame(as: two) { return nil }
            return "\(place): \(text(one)) recorded, \(text(two)) requested"
        }
    }

    private static func text(_ json: JSONValue) -> String {
        shown(String(decoding: JSONWriter.bytes(of: json), as: UTF8.self))
    }

    private static func shown(_ text: String) -> String {
        if text.isEmpty { return "nothing" }
        return text.count <= 80 ? text : text.prefix(77) + "…"
    }
}

/// JSON with sorted names and one form of each number, to compare values by their bytes.
private struct CanonicalJSON {
    var bytes: [UInt8] = []

    mutating func write(_ json: JSONValue) {
        switch json {
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for member in object.members.sorted(by: { $0.name < $1.name }) {
                bytes += JSONWriter.bytes(of: member.name)
                bytes.append(UInt8(ascii: ":"))
                write(member.value)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "}"))
        case .array(let list):
            bytes.append(UInt8(ascii: "["))
            for item in list {
                write(item)
                bytes.append(UInt8(ascii: ","))
            }
            bytes.append(UInt8(ascii: "]"))
        default:
            if let number = json.canonicalNumber { bytes += number.utf8 } else { bytes += JSONWriter.bytes(of: json) }
        }
    }
}

extension JSONValue {
    /// Takes the member out that the tokens of an RFC 6901 pointer name. An element of a list becomes null, so that the
    /// others keep their places.
    fileprivate mutating func remove(_ tokens: ArraySlice<String>) {
        guard let token = tokens.first else {
            self = .null
            return
        }
        let rest = tokens.dropFirst()
        switch self {
        case .object(var object):
            guard var member = object[token] else { return }
            if rest.isEmpty {
                object[token] = nil
            } else {
                member.remove(rest)
                object[token] = member
            }
            self = .object(object)
        case .array(var list):
            if token == "*" {
                for index in list.indices { list[index].remove(rest) }
            } else if let index = Int(token), list.indices.contains(index) {
                list[index].remove(rest)
            }
            self = .array(list)
        default: return
        }
    }
}
