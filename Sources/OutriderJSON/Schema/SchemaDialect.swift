// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The dialect of JSON Schema in a document, decided by its `$schema`.
///
/// Without `$schema` the dialect is draft 2020-12, and spellings of older drafts and of OpenAPI 3.0 that have no
/// meaning there are understood as well.
struct SchemaDialect {
    /// Up to draft 7, keywords beside `$ref` are ignored.
    let ignoresBesideReference: Bool
    /// Whether elements matched by `contains` count as evaluated for `unevaluatedItems`: not in draft 2019-09.
    let containsEvaluates: Bool
    let knowsNullable: Bool
    /// Keywords for the URI of a schema.
    let idWords: [String]

    /// The anchor that `$recursiveAnchor` of draft 2019-09 stands for; no other anchor can have this name.
    static let recursive = ByteText("\u{0}")

    init(_ document: JSONValue) {
        let named = document.object?["$schema"]?.string ?? ""
        ignoresBesideReference = ["draft-03", "draft-04", "draft-06", "draft-07"].contains { named.contains($0) }
        containsEvaluates = !named.contains("2019-09")
        knowsNullable = named.isEmpty
        idWords = named.contains("draft-04") || named.contains("draft-03") ? ["id"] : ["$id"]
    }

    /// Keywords whose value is a schema.
    private static let single: [String] = [
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
        "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    ]
    /// Keywords whose value is an object of schemas.
    private static let named: [String] = [
        "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
    ]
    /// Keywords whose value is a list of schemas.
    private static let listed: [String] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"]

    /// All direct subschemas of a schema.
    static func schemas(in object: JSONObject, at pointer: JSONPointer) -> [(JSONValue, JSONPointer)] {
        var found: [(JSONValue, JSONPointer)] = []
        for member in object.members {
            let place = pointer.appending(JSONPointer(member: member.name))
            switch member.value {
            case .object(let inner):
                if single.contains(member.name) { found.append((member.value, place)) }
                guard named.contains(member.name) else { continue }
                for one in inner.members { found.append((one.value, place.appending(JSONPointer(member: one.name)))) }
            case .array(let values) where listed.contains(member.name):
                for (index, one) in values.enumerated() {
                    found.append((one, place.appending(JSONPointer(index: index))))
                }
            default: continue
            }
        }
        return found
    }
}
