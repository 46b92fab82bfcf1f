// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The schemas of an API description to which schemas of parameters refer, each with a unique name.
///
/// References are rewritten from places in the document to `#/definitions/NAME`, so that the result of
/// `router.describe` needs no document.
struct RouterDefinitions {
    /// The schemas under their new names, with references rewritten.
    private var found: [JSONObject.Member] = []
    private var names: [JSONPointer: String] = [:]
    private var taken: Set<String> = []
    /// The next number of a name that several places share.
    private var numbers: [String: Int] = [:]
    /// A schema of more values is not copied into each endpoint that names it.
    private static let mostCopied = 64
    private var pending: [JSONPointer] = []

    var schemas: JSONObject { JSONObject(members: found) }

    /// The schema of an endpoint's parameters, with small schemas of its members in their places.
    mutating func parameters(_ schema: JSONValue, in document: inout DocumentIndex) -> JSONValue {
        guard case .object(var object) = schema, let members = object["properties"]?.object else {
            return rewritten(schema)
        }
        let properties = members.members.map { member in
            let value = Self.pointer(of: member.value).flatMap { document.value(at: $0) }
            let copied = value.flatMap { Self.isSmall($0) ? $0 : nil }
            return JSONObject.Member(member.name, rewritten(copied ?? member.value))
        }
        object["properties"] = .object(JSONObject())
        guard case .object(var outer) = rewritten(.object(object)) else { return schema }
        outer["properties"] = .object(JSONObject(members: properties))
        return .object(outer)
    }

    /// Adds all directly and indirectly referenced schemas. Each schema of the document is read once.
    mutating func complete(from document: inout DocumentIndex) {
        while let pointer = pending.popLast() {
            guard let name = names[pointer], let schema = document.value(at: pointer) else { continue }
            found.append(JSONObject.Member(name, rewritten(schema)))
        }
    }

    private static func isSmall(_ schema: JSONValue) -> Bool {
        var pending = [schema]
        var count = 0
        while let value = pending.popLast() {
            count += 1
            if count + pending.count > mostCopied { return false }
            switch value {
            case .object(let object): pending += object.members.map(\.value)
            case .array(let values): pending += values
            default: break
            }
        }
        return true
    }

    /// The target of a schema that is a pure reference into the document.
    private static func pointer(of schema: JSONValue) -> JSONPointer? {
        guard let object = schema.object, object.members.count == 1 else { return nil }
        return object["$ref"]?.string.flatMap(place)
    }

    private static func place(_ reference: String) -> JSONPointer? {
        guard reference.hasPrefix("#/") else { return nil }
        return JSONPointer(written: URIText.decoded(String(reference.dropFirst())))
    }

    private mutating func rewritten(_ schema: JSONValue) -> JSONValue {
        switch schema {
        case .object(let object):
            let members = object.members.map { JSONObject.Member($0.name, rewritten($0)) }
            return .object(JSONObject(members: members))
        case .array(let values): return .array(values.map { rewritten($0) })
        default: return schema
        }
    }

    private mutating func rewritten(_ member: JSONObject.Member) -> JSONValue {
        if SchemaMembers.data.contains(member.name) { return member.value }
        if member.name == "$ref", let place = member.value.string.flatMap(Self.place) {
            return .string("#/definitions/\(name(of: place))")
        }
        guard SchemaMembers.named.contains(member.name), let named = member.value.object else {
            return rewritten(member.value)
        }
        let members = named.members.map { JSONObject.Member($0.name, rewritten($0.value)) }
        return .object(JSONObject(members: members))
    }

    private mutating func name(of place: JSONPointer) -> String {
        if let name = names[place] { return name }
        let plain = (place.names.last ?? "").prefix(64).map { character in
            let isPlain = character.isLetter || character.isNumber || "._-".contains(character)
            return character.isASCII && isPlain ? character : "_"
        }
        let base = plain.isEmpty ? "schema" : String(plain)
        var name = base
        var number = numbers[base] ?? 2
        while !taken.insert(name).inserted {
            name = "\(base)-\(number)"
            number += 1
        }
        numbers[base] = number
        names[place] = name
        pending.append(place)
        return name
    }
}

/// Members of JSON Schemas whose value is not a single schema.
private enum SchemaMembers {
    /// Members whose values are data, without references.
    static let data: Set = ["const", "default", "enum", "example", "examples"]
    /// Members that map arbitrary names to schemas.
    static let named: Set = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"]
}

extension RouterSpec {
    /// The definitions to which these endpoints refer, directly or indirectly.
    package func definitions(of endpoints: [RouterEndpoint]) -> JSONObject {
        if definitions.isEmpty { return definitions }
        let known = Dictionary(definitions.members.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        var found: Set<String> = []
        var pending = endpoints.compactMap(\.params)
        while let value = pending.popLast() {
            switch value {
            case .array(let values): pending += values
            case .object(let object):
                for member in object.members {
                    if member.name == "$ref", let name = member.value.string?.dropFirst("#/definitions/".count),
                        let schema = known[String(name)], found.insert(String(name)).inserted
                    {
                        pending.append(schema)
                    }
                    pending.append(member.value)
                }
            default: break
            }
        }
        return JSONObject(members: definitions.members.filter { found.contains($0.name) })
    }
}
