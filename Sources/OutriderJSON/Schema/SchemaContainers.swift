// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Applies the rules for arrays and objects.
extension SchemaRun {
    mutating func array(
        _ rule: SchemaRule, of node: SchemaNode, _ values: [JSONValue], _ seen: inout SchemaSeen
    ) -> Bool {
        switch rule {
        case .itemCount(let least, let most):
            if values.count < least {
                return fail(node, "minItems") { "\($0) must have at least \(Self.many(least, "element"))" }
            }
            guard let most, values.count > most else { return true }
            return fail(node, "maxItems") { "\($0) must have at most \(Self.many(most, "element"))" }
        case .uniqueItems: return unique(values, node)
        case .items(let first, let others): return items(first, others, of: node, values, &seen)
        case .contains(let schema, let least, let most):
            return contains(schema, least, most, of: node, values, &seen)
        case .unevaluatedItems(let schema):
            var fits = true
            for (index, value) in values.enumerated() where !seen.has(index) {
                fits = inner(schema, value, JSONPointer(index: index), node, "unevaluatedItems") && fits
                if !fits && isQuiet { return false }
            }
            seen.all = true
            return fits
        default: return true
        }
    }

    private mutating func unique(_ values: [JSONValue], _ node: SchemaNode) -> Bool {
        var known: [SchemaEqual: Int] = [:]
        for (index, value) in values.enumerated() {
            guard spend(1, node) else { return false }
            if let first = known.updateValue(index, forKey: SchemaEqual(value)) {
                return fail(node, "uniqueItems") { "\($0) must not have equal elements, such as \(first) and \(index)" }
            }
        }
        return true
    }

    private mutating func items(
        _ first: [Int], _ others: Int?, of node: SchemaNode, _ values: [JSONValue], _ seen: inout SchemaSeen
    ) -> Bool {
        var fits = true
        for (index, value) in values.enumerated() {
            guard let schema = index < first.count ? first[index] : others else { break }
            fits = inner(schema, value, JSONPointer(index: index), node, "items") && fits
            if !fits && isQuiet { return false }
            if nodes.hasUnevaluated { seen.indexes.insert(index) }
        }
        if others != nil { seen.all = true }
        return fits
    }

    private mutating func contains(
        _ schema: Int, _ least: Int, _ most: Int?, of node: SchemaNode, _ values: [JSONValue], _ seen: inout SchemaSeen
    ) -> Bool {
        var count = 0
        for (index, value) in values.enumerated() {
            var inner = SchemaSeen()
            guard test(schema, value, &inner) else { continue }
            count += 1
            if nodes.containsEvaluates { seen.indexes.insert(index) }
        }
        if count < least {
            let wanted = Self.many(least, "element")
            return fail(node, "contains") { "\($0) must contain at least \(wanted) of the kind that is asked for" }
        }
        guard let most, count > most else { return true }
        return fail(node, "maxContains") { "\($0) must contain at most \(Self.many(most, "element")) of that kind" }
    }

    mutating func members(
        _ rule: SchemaRule, of node: SchemaNode, _ object: JSONObject, _ seen: inout SchemaSeen
    ) -> Bool {
        switch rule {
        case .memberCount(let least, let most):
            if object.members.count < least {
                return fail(node, "minProperties") { "\($0) must have at least \(Self.many(least, "member"))" }
            }
            guard let most, object.members.count > most else { return true }
            return fail(node, "maxProperties") { "\($0) must have at most \(Self.many(most, "member"))" }
        case .required(let names): return required(names, "required", of: node, object)
        case .requiredWith(let name, let names):
            guard object[name] != nil else { return true }
            return required(names, "dependentRequired", of: node, object, because: name)
        case .members(let wanted): return members(wanted, of: node, object, &seen)
        case .names(let schema): return names(schema, of: node, object)
        case .unevaluatedMembers(let schema):
            var fits = true
            for (index, member) in object.members.enumerated() where !seen.has(index) {
                let place = JSONPointer(member: member.name)
                fits = inner(schema, member.value, place, node, "unevaluatedProperties") && fits
                if !fits && isQuiet { return false }
            }
            seen.all = true
            return fits
        default: return true
        }
    }

    private mutating func required(
        _ names: [String], _ keyword: String, of node: SchemaNode, _ object: JSONObject, because: String? = nil
    ) -> Bool {
        guard spend(names.count, node) else { return false }
        // avoids quadratic time for long lists
        let there = object.members.count > 16 ? Set(object.members.map { ByteText($0.name) }) : nil
        var fits = true
        for name in names where there.map({ !$0.contains(ByteText(name)) }) ?? (object[name] == nil) {
            fits = false
            if isQuiet { return false }
            let reason = because.map { " because there is \($0)" } ?? ""
            fail(node, keyword, at: JSONPointer(member: name)) { "\($0) is required\(reason)" }
        }
        return fits
    }

    private mutating func members(
        _ wanted: SchemaMembers, of node: SchemaNode, _ object: JSONObject, _ seen: inout SchemaSeen
    ) -> Bool {
        var fits = true
        for (index, member) in object.members.enumerated() {
            guard spend(1, node) else { return false }
            let place = JSONPointer(member: member.name)
            var isKnown = false
            if let schema = wanted.named[ByteText(member.name)] {
                isKnown = true
                fits = inner(schema, member.value, place, node, "properties") && fits
            }
            for (pattern, schema) in wanted.patterns {
                guard let matches = matches(pattern, member.name, node) else { return false }
                guard matches else { continue }
                isKnown = true
                fits = inner(schema, member.value, place, node, "patternProperties") && fits
            }
            if !isKnown, let others = wanted.others {
                isKnown = true
                fits = inner(others, member.value, place, node, "additionalProperties", known: wanted) && fits
            }
            if isKnown && nodes.hasUnevaluated { seen.indexes.insert(index) }
            if !fits && isQuiet { return false }
        }
        return fits
    }

    private mutating func names(_ schema: Int, of node: SchemaNode, _ object: JSONObject) -> Bool {
        for member in object.members {
            var seen = SchemaSeen()
            let (fits, faults) = trial(schema, .string(member.name), &seen)
            if fits { continue }
            if isQuiet { return false }
            let reason = faults.first.map { ": \($0.message)" } ?? ""
            fail(node, "propertyNames", at: JSONPointer(member: member.name)) {
                "\($0) has a name that is not allowed\(reason)"
            }
            return false
        }
        return true
    }

    /// Checks a value inside the current value; a schema that allows nothing is reported by the keyword that holds the
    /// schema.
    private mutating func inner(
        _ schema: Int, _ value: JSONValue, _ place: JSONPointer, _ node: SchemaNode, _ keyword: String,
        known: SchemaMembers? = nil
    ) -> Bool {
        guard nodes.list[schema].always == false else { return check(schema, value, at: place) }
        let names = known?.named.keys.map(\.text).sorted() ?? []
        let hint = names.isEmpty || names.count > 20 ? "" : ": known here are \(names.joined(separator: ", "))"
        fail(node, keyword, at: place) { "\($0) is not allowed\(hint)" }
        return false
    }
}
