// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Applies the rules to a value.
extension SchemaRun {
    mutating func apply(_ rule: SchemaRule, of node: SchemaNode, to value: JSONValue, _ seen: inout SchemaSeen) -> Bool
    {
        switch rule {
        case .types(let types):
            return types.fits(value)
                || fail(node, "type") { "\($0) must be \(types.spoken), not \(value.typeName)" }
        case .constant(let wanted):
            return SchemaEqual.same(wanted, value)
                || fail(node, "const") { "\($0) must be \(Self.shown(wanted))" }
        case .choice(let values):
            guard spend(values.count, node) else { return false }
            return values.contains { SchemaEqual.same($0, value) }
                || fail(node, "enum") { "\($0) must be one of \(Self.shown(values))" }
        case .atLeast, .atMost, .multipleOf: return number(rule, of: node, value)
        case .length, .pattern, .format: return text(rule, of: node, value)
        case .itemCount, .uniqueItems, .items, .contains, .unevaluatedItems:
            guard case .array(let values) = value else { return true }
            return array(rule, of: node, values, &seen)
        case .memberCount, .required, .members, .names, .requiredWith, .unevaluatedMembers:
            guard case .object(let object) = value else { return true }
            return members(rule, of: node, object, &seen)
        case .schemaWith, .all, .any, .one, .not, .condition, .reference, .dynamicReference:
            return combined(rule, of: node, to: value, &seen)
        }
    }

    // MARK: numbers and texts

    private mutating func number(_ rule: SchemaRule, of node: SchemaNode, _ value: JSONValue) -> Bool {
        switch rule {
        case .atLeast(let bound, let isExclusive):
            guard let order = SchemaNumber.order(value, bound), order < 0 || isExclusive && order == 0 else {
                return true
            }
            return isExclusive
                ? fail(node, "exclusiveMinimum") { "\($0) must be more than \(Self.shown(bound))" }
                : fail(node, "minimum") { "\($0) must be at least \(Self.shown(bound))" }
        case .atMost(let bound, let isExclusive):
            guard let order = SchemaNumber.order(value, bound), order > 0 || isExclusive && order == 0 else {
                return true
            }
            return isExclusive
                ? fail(node, "exclusiveMaximum") { "\($0) must be less than \(Self.shown(bound))" }
                : fail(node, "maximum") { "\($0) must be at most \(Self.shown(bound))" }
        case .multipleOf(let divisor, let written):
            guard let number = SchemaNumber(value), !number.isMultiple(of: divisor) else { return true }
            return fail(node, "multipleOf") { "\($0) must be a multiple of \(Self.shown(written))" }
        default: return true
        }
    }

    private mutating func text(_ rule: SchemaRule, of node: SchemaNode, _ value: JSONValue) -> Bool {
        switch rule {
        case .length(let least, let most):
            guard case .string(let text) = value, spend(text.utf8.count / 64, node) else { return true }
            let count = text.unicodeScalars.count
            if count < least {
                return fail(node, "minLength") { "\($0) must have at least \(Self.many(least, "character"))" }
            }
            guard let most, count > most else { return true }
            return fail(node, "maxLength") { "\($0) must have at most \(Self.many(most, "character"))" }
        case .pattern(let pattern, let written):
            guard case .string(let text) = value else { return true }
            guard let matches = matches(pattern, text, node) else { return false }
            return matches || fail(node, "pattern") { "\($0) must match the pattern \(written.prefix(200))" }
        case .format(let format):
            return format.fits(value) || fail(node, "format") { "\($0) must be \(format.spoken)" }
        default: return true
        }
    }

    /// Nil if the steps are used up.
    mutating func matches(_ pattern: LinearPattern, _ text: String, _ node: SchemaNode) -> Bool? {
        let matches = pattern.matches(text, spending: &steps)
        if matches == nil { _ = spend(1, node) }
        return matches
    }

    // MARK: combinations

    private mutating func combined(
        _ rule: SchemaRule, of node: SchemaNode, to value: JSONValue, _ seen: inout SchemaSeen
    ) -> Bool {
        switch rule {
        case .reference(let target, _): return check(target, value, &seen)
        case .dynamicReference(let target, let anchor):
            let outermost = scopes.lazy.compactMap { [nodes] in nodes.anchors[$0][anchor] }.first
            return check(outermost ?? target, value, &seen)
        case .schemaWith(let name, let schema):
            guard case .object(let object) = value, object[name] != nil else { return true }
            return check(schema, value, &seen)
        case .all(let schemas):
            var fits = true
            for schema in schemas where fits || !isQuiet { fits = check(schema, value, &seen) && fits }
            return fits
        case .any(let schemas): return any(schemas, of: node, value, &seen)
        case .one(let schemas): return one(schemas, of: node, value, &seen)
        case .not(let schema):
            var inner = SchemaSeen()
            return !test(schema, value, &inner) || fail(node, "not") { "\($0) must not be what \"not\" describes" }
        case .condition(let condition, let then, let otherwise):
            let holds = test(condition, value, &seen)
            return (holds ? then : otherwise).map { check($0, value, &seen) } ?? true
        default: return true
        }
    }

    private mutating func any(
        _ schemas: [Int], of node: SchemaNode, _ value: JSONValue, _ seen: inout SchemaSeen
    ) -> Bool {
        var fits = false
        var closest: SchemaFault?
        for schema in schemas {
            let (one, faults) = trial(schema, value, &seen)
            closest = Self.closer(closest, faults.first)
            fits = fits || one
            // further alternatives matter only for unevaluated members and elements
            if fits && !nodes.hasUnevaluated { return true }
        }
        return fits || misses(node, "anyOf", schemas.count, closest)
    }

    private mutating func one(
        _ schemas: [Int], of node: SchemaNode, _ value: JSONValue, _ seen: inout SchemaSeen
    ) -> Bool {
        var fitting: [Int] = []
        var closest: SchemaFault?
        for (index, schema) in schemas.enumerated() {
            var inner = SchemaSeen()
            let (fits, faults) = trial(schema, value, &inner)
            closest = Self.closer(closest, faults.first)
            if fits {
                fitting.append(index)
                seen.add(inner)
            }
            if fitting.count > 1 {
                let which = fitting.map { "\($0)" }.joined(separator: " and ")
                return fail(node, "oneOf") { "\($0) must fit exactly one of the alternatives, but fits \(which)" }
            }
        }
        return !fitting.isEmpty || misses(node, "oneOf", schemas.count, closest)
    }

    private mutating func misses(_ node: SchemaNode, _ word: String, _ count: Int, _ closest: SchemaFault?) -> Bool {
        let hint = closest.map { "; for the closest, \($0.message)" } ?? ""
        return fail(node, word) { "\($0) fits none of \(Self.many(count, "alternative"))\(hint)" }
    }

    /// The fault that lies deeper in the value: that alternative fits up to there, so the author probably meant it.
    private static func closer(_ one: SchemaFault?, _ other: SchemaFault?) -> SchemaFault? {
        guard let one else { return other }
        guard let other else { return one }
        return other.instance.description.utf8.count > one.instance.description.utf8.count ? other : one
    }

    // MARK: words

    static func many(_ count: Int, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }

    /// A value as part of a sentence; a long value is cut.
    static func shown(_ value: JSONValue) -> String {
        switch value {
        case .array, .object: break
        case .string(let text) where text.utf8.count > 60: return "\"\(text.prefix(60))…\""
        default: return String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        }
        let text = String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        return text.utf8.count > 60 ? text.prefix(60) + "…" : text
    }

    private static func shown(_ values: [JSONValue]) -> String {
        let some = values.prefix(12).map(shown).joined(separator: ", ")
        return values.count > 12 ? some + ", …" : some
    }
}
