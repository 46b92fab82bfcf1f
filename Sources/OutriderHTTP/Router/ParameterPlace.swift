// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// The place of an endpoint's parameter in the request, and its encoding.
package struct ParameterPlace: Sendable, Equatable {
    package enum Part: String, Sendable, CaseIterable {
        case path, query, header, cookie, body
    }

    /// How lists and objects are written (OpenAPI 3.1 section 4.8.12.3).
    package enum Style: String, Sendable, CaseIterable {
        /// Commas between the elements: in paths, headers and cookies.
        case simple
        /// The name repeated, or commas: in queries.
        case form
        case spaceDelimited, pipeDelimited
        /// `name[member]=value`, as deep as the value is.
        case deepObject
    }

    /// The encoding of a body parameter.
    package enum BodyKind: String, Sendable, CaseIterable {
        case json, form, text, base64, multipart
        /// The value itself is a Body of the contract.
        case body
    }

    package var part: Part
    /// The name in the request; nil for the parameter's own name.
    package var name: String?
    package var style: Style?
    /// Whether elements are written separately. Default: only with style `form`.
    package var explodes: Bool?
    package var kind = BodyKind.json
    /// The Content-Type of a body, if not the implied type of its kind.
    package var contentType: String?

    package init(_ part: Part, name: String? = nil) {
        self.part = part
        self.name = name
    }

    private var isExploded: Bool { explodes ?? (part == .query && (style ?? .form) == .form) }

    // MARK: as text

    /// The texts for a path, a header or a cookie; nil for values without a text form.
    func texts(_ value: JSONValue) -> ExpandedValue? {
        guard let texts = Self.flat(value, isExploded: isExploded) else { return nil }
        return ExpandedValue(texts: texts)
    }

    private static func flat(_ value: JSONValue, isExploded: Bool) -> [String]? {
        switch value {
        case .null: return []
        case .array(let values):
            let texts = values.compactMap(Self.text)
            return texts.count == values.count ? texts : nil
        case .object(let object):
            var texts: [String] = []
            for member in object.members {
                guard let text = text(member.value) else { return nil }
                texts += isExploded ? ["\(member.name)=\(text)"] : [member.name, text]
            }
            return texts
        default: return text(value).map { [$0] }
        }
    }

    /// A scalar as text; a whole number has no fraction, because Lua and Lisp cannot tell 3 from 3.0.
    static func text(_ value: JSONValue) -> String? {
        switch value {
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): number.description
        case .real(let number):
            abs(number) < 1e15 ? Int64(exactly: number)?.description ?? number.description : number.description
        case .string(let text), .written(let text): text
        case .null, .array, .object, .secret: nil
        }
    }

    // MARK: in a query

    /// Names and values in the form of a request's `query`; nil for values without a query form.
    func queryItems(_ name: String, _ value: JSONValue) -> [JSONObject.Member]? {
        if style == .deepObject { return Self.nested([JSONObject.Member(name, value)]) }
        switch value {
        case .null: return []
        case .array(let values) where isExploded:
            let texts = values.compactMap(Self.text)
            return texts.count == values.count ? [.init(name, .array(texts.map { .string($0) }))] : nil
        case .object(let object) where isExploded:
            var items: [JSONObject.Member] = []
            for member in object.members {
                guard let text = Self.text(member.value) else { return nil }
                items.append(.init(member.name, .string(text)))
            }
            return items
        default:
            guard let texts = Self.flat(value, isExploded: false) else { return nil }
            return [.init(name, .string(texts.joined(separator: separator)))]
        }
    }

    /// `name=a,b` for the query of a URL: commas between elements stay, those in elements are escaped (RFC 6570 section
    /// 3.2.8). Nil for values without such commas, which `queryItems` writes.
    func commaList(_ name: String, _ value: JSONValue) -> String? {
        guard !isExploded, style != .deepObject, separator == "," else { return nil }
        switch value {
        case .array, .object: break
        default: return nil
        }
        guard let texts = Self.flat(value, isExploded: false) else { return nil }
        let list = texts.map { PercentEncoding.query.escape($0) }.joined(separator: ",")
        return "\(PercentEncoding.query.escape(name))=\(list)"
    }

    private var separator: String {
        switch style {
        case .spaceDelimited: " "
        case .pipeDelimited: "|"
        default: ","
        }
    }

    // MARK: with brackets

    /// The most bytes of all names with brackets: each repeats the names around it.
    private static let mostNameBytes = 16 << 20

    /// `name[member]` for the members of objects, `name[]` for lists of scalars, `name[0]` for other lists, without null.
    /// Nil if the names would be too long.
    private static func nested(_ members: [JSONObject.Member]) -> [JSONObject.Member]? {
        var items: [JSONObject.Member] = []
        var room = mostNameBytes
        let isComplete = members.allSatisfy { add($0.value, under: $0.name, to: &items, &room) }
        return isComplete ? items : nil
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private static func add(
        _ value: JSONValue, under name: String, to items: inout [JSONObject.Member], _ room: inout Int
    ) -> Bool {
        room -= name.utf8.count
        if room < 0 { return false }
        switch value {
        case .null: return true
        case .object(let object):
            return object.members.allSatisfy { add($0.value, under: "\(name)[\($0.name)]", to: &items, &room) }
        case .array(let values):
            let texts = values.compactMap(text)
            guard texts.count == values.count else {
                return values.enumerated().allSatisfy { add($1, under: "\(name)[\($0)]", to: &items, &room) }
            }
            if !texts.isEmpty { items.append(.init("\(name)[]", .array(texts.map { .string($0) }))) }
            return true
        default:
            guard let text = text(value) else { return false }
            items.append(.init(name, .string(text)))
            return true
        }
    }

    // MARK: as a body

    /// The value as a Body of the contract.
    func body(_ value: JSONValue) -> JSONValue {
        if kind == .body { return typed(value) }
        var body: JSONObject = [kind.rawValue: kind == .form ? form(value) : value]
        if let contentType { body["contentType"] = .string(contentType) }
        return .object(body)
    }

    /// A Body with the type of the place, unless the Body has its own.
    private func typed(_ value: JSONValue) -> JSONValue {
        guard let contentType, case .object(var body) = value, body["contentType"] == nil, body["multipart"] == nil
        else {
            return value
        }
        body["contentType"] = .string(contentType)
        return .object(body)
    }

    /// The fields with the texts that they have in a query, such as `true`. An object stays without `deepObject`, and
    /// is refused with the body.
    private func form(_ value: JSONValue) -> JSONValue {
        if case .array(let pairs) = value { return .array(pairs.map(Self.pair)) }
        guard case .object(let object) = value else { return value }
        guard style == .deepObject else {
            return .object(JSONObject(members: object.members.map { .init($0.name, Self.field($0.value)) }))
        }
        guard let items = Self.nested(object.members) else { return value }
        return .array(items.map { .object(["name": .string($0.name), "value": $0.value]) })
    }

    private static func pair(_ value: JSONValue) -> JSONValue {
        guard case .object(var pair) = value, let text = pair["value"] else { return value }
        pair["value"] = field(text)
        return .object(pair)
    }

    private static func field(_ value: JSONValue) -> JSONValue {
        if case .array(let values) = value { return .array(values.map { text($0).map { .string($0) } ?? $0 }) }
        return text(value).map { .string($0) } ?? value
    }
}
