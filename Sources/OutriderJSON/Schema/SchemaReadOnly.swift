// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// OpenAPI's rule for requests: members that are `readOnly` are not required.
extension SchemaTable {
    /// The `readOnly` members of one schema, without those of referenced schemas. Many schemas may refer to the same
    /// large schema, so every schema is read once.
    struct ReadOnlyMembers {
        var names: Set<ByteText> = []
        /// The schemas of `allOf`, which describe the same object.
        var parts: [JSONPointer] = []
    }

    /// The names of members that a request must have: `readOnly` members are left out. Throws if the budget is used up.
    mutating func required(_ names: [String], at pointer: JSONPointer) throws(JSONComplaint) -> [String] {
        let readOnly = try readOnlyMembers(at: pointer)
        // the look-up of a name takes much less time than the reading of a value
        try budget.spend(values: readOnly.count * (1 + names.count / 16))
        return names.filter { name in !readOnly.contains { $0.contains(ByteText(name)) } }
    }

    /// Many documents have the members and the list of required members in two schemas of one `allOf`.
    mutating func shareReadOnly(of parts: [JSONValue], at pointer: JSONPointer) throws(JSONComplaint) {
        let requiring = parts.indices.filter { parts[$0].object?["required"] != nil }
        if requiring.isEmpty { return }
        let readOnly = try readOnlyMembers(at: pointer)
        if readOnly.isEmpty { return }
        for index in requiring {
            let place = pointer.appending(JSONPointer(index: index).under(member: "allOf"))
            try budget.spend(bytes: place.description.utf8.count)
            readOnlyBeside[place] = readOnly
        }
    }

    /// The `readOnly` members of an object by all schemas of `allOf`, one set for each schema: a union would copy large
    /// sets for each schema that refers to them.
    private mutating func readOnlyMembers(at pointer: JSONPointer) throws(JSONComplaint) -> [Set<ByteText>] {
        var found = readOnlyBeside[pointer] ?? []
        var seen: Set<ByteText> = []
        var pending = [pointer]
        while let place = pending.popLast() {
            let key = ByteText(place.description)
            guard seen.insert(key).inserted else { continue }
            let members: ReadOnlyMembers
            if let known = readOnly[key] {
                members = known
            } else {
                members = try readReadOnly(at: place)
                readOnly[key] = members
            }
            try budget.spend(values: 1 + members.parts.count, bytes: key.text.utf8.count)
            if !members.names.isEmpty { found.append(members.names) }
            pending += members.parts
        }
        return found
    }

    private mutating func readReadOnly(at place: JSONPointer) throws(JSONComplaint) -> ReadOnlyMembers {
        var found = ReadOnlyMembers()
        guard let schema = value(at: place), let object = schema.object else { return found }
        let node = SchemaNode(pointer: place, resource: try resource(of: schema, at: place))
        let members = object["properties"]?.object?.members ?? []
        let parts = object["allOf"]?.array ?? []
        try budget.spend(values: members.count + parts.count)
        for member in members where isReadOnly(member.value, in: node) { found.names.insert(ByteText(member.name)) }
        for (index, part) in parts.enumerated() {
            let inner = place.appending(JSONPointer(index: index).under(member: "allOf"))
            try budget.spend(values: 0, bytes: inner.description.utf8.count)
            found.parts.append(target(of: part, in: node) ?? inner)
        }
        return found
    }

    private mutating func isReadOnly(_ schema: JSONValue, in node: SchemaNode) -> Bool {
        if let flag = schema.object?["readOnly"] { return flag == .bool(true) }
        return target(of: schema, in: node).flatMap { value(at: $0) }?.object?["readOnly"] == .bool(true)
    }

    /// The target of a reference; nil without a reference, or if the target does not exist.
    private mutating func target(of schema: JSONValue, in node: SchemaNode) -> JSONPointer? {
        schema.object?["$ref"]?.string.flatMap { try? target(of: $0, from: node) }
    }
}
