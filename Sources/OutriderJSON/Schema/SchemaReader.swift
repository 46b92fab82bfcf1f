// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads the keywords of a schema object into rules.
///
/// Cheap rules come first; rules that depend on the members and elements evaluated by others come last.
struct SchemaReader {
    let object: JSONObject
    var node: SchemaNode

    init(_ object: JSONObject, _ node: SchemaNode) {
        self.object = object
        self.node = node
    }

    mutating func read(_ table: inout SchemaTable) throws(JSONComplaint) {
        if let reference = try text("$ref") {
            let target = try table.followed(reference, from: node, "$ref")
            node.rules.append(.reference(try table.reserve(target), keyword: "$ref"))
            if table.dialect.ignoresBesideReference { return }
        }
        node.isNullable = table.dialect.knowsNullable && object["nullable"] == .bool(true)
        try readDynamic(&table)
        try readValues()
        try readNumbers()
        try readTexts(table.formats)
        try readArrays(&table)
        try readObjects(&table)
        try readCombined(&table)
        try readUnevaluated(&table)
    }

    // MARK: values

    private mutating func readValues() throws(JSONComplaint) {
        if let value = object["type"] { node.rules.append(.types(try types(value))) }
        if let value = object["const"] { node.rules.append(.constant(value)) }
        if let value = object["enum"] {
            guard case .array(let values) = value else { throw fault("enum", "must be a list, not \(value.typeName)") }
            node.rules.append(.choice(values))
        }
    }

    private func types(_ value: JSONValue) throws(JSONComplaint) -> SchemaTypes {
        let names: [JSONValue] = value.array ?? [value]
        var types: SchemaTypes = []
        for name in names {
            guard let type = name.string.flatMap(SchemaTypes.init(name:)) else {
                let known = SchemaTypes.names.joined(separator: ", ")
                throw fault("type", "must be one of \(known), or a list of these")
            }
            types.insert(type)
        }
        return types
    }

    private mutating func readNumbers() throws(JSONComplaint) {
        try readBound("minimum", "exclusiveMinimum") { .atLeast($0, exclusive: $1) }
        try readBound("maximum", "exclusiveMaximum") { .atMost($0, exclusive: $1) }
        guard let value = object["multipleOf"] else { return }
        guard let number = SchemaNumber(value), number.isPositive else {
            throw fault("multipleOf", "must be a number greater than 0")
        }
        node.rules.append(.multipleOf(number, written: value))
    }

    /// `exclusive…` is a number, or was a boolean beside the bound.
    private mutating func readBound(
        _ word: String, _ exclusiveWord: String, _ rule: (JSONValue, Bool) -> SchemaRule
    ) throws(JSONComplaint) {
        let exclusive = object[exclusiveWord]
        if let bound = object[word] {
            if bound.number == nil { throw fault(word, "must be a number, not \(bound.typeName)") }
            node.rules.append(rule(bound, exclusive == .bool(true)))
        }
        switch exclusive?.rounded {
        case nil, .bool: return
        case .integer(let bound): node.rules.append(rule(.integer(bound), true))
        case .real(let bound): node.rules.append(rule(.real(bound), true))
        case .some(let other): throw fault(exclusiveWord, "must be a number, not \(other.typeName)")
        }
    }

    private mutating func readTexts(_ formats: Bool) throws(JSONComplaint) {
        if let bounds = try bounds("minLength", "maxLength") {
            node.rules.append(.length(least: bounds.least, most: bounds.most))
        }
        if let pattern = try text("pattern") {
            node.rules.append(.pattern(try self.pattern(pattern, JSONPointer(member: "pattern")), pattern))
        }
        if formats, let format = try text("format").flatMap(SchemaFormat.init(name:)) {
            node.rules.append(.format(format))
        }
    }

    // MARK: containers

    private mutating func readArrays(_ table: inout SchemaTable) throws(JSONComplaint) {
        if let bounds = try bounds("minItems", "maxItems") {
            node.rules.append(.itemCount(least: bounds.least, most: bounds.most))
        }
        if object["uniqueItems"] == .bool(true) { node.rules.append(.uniqueItems) }
        var first: [Int] = []
        var others: Int?
        if object["prefixItems"] != nil { first = try schemas("prefixItems", &table) }
        if object["items"]?.array != nil {
            // a list of schemas until draft 2019-09
            first = try schemas("items", &table)
            others = try schema("additionalItems", &table)
        } else {
            others = try schema("items", &table)
        }
        if !first.isEmpty || others != nil { node.rules.append(.items(first: first, others: others)) }
        if let contains = try schema("contains", &table) {
            let bounds = try bounds("minContains", "maxContains")
            node.rules.append(
                .contains(contains, least: object["minContains"] == nil ? 1 : bounds?.least ?? 1, most: bounds?.most))
        }
    }

    private mutating func readObjects(_ table: inout SchemaTable) throws(JSONComplaint) {
        if let bounds = try bounds("minProperties", "maxProperties") {
            node.rules.append(.memberCount(least: bounds.least, most: bounds.most))
        }
        // draft 3 and many handwritten documents have a boolean
        if var names = try texts(object["required"], JSONPointer(member: "required")), !names.isEmpty {
            // the root is of the parameters, which may share the schemas of readOnly members
            if table.ofRequests, node.pointer != table.root {
                names = try table.required(names, at: node.pointer)
            }
            if !names.isEmpty { node.rules.append(.required(names)) }
        }
        var members = SchemaMembers()
        for (name, _, place) in try named("properties") { members.named[ByteText(name)] = try table.reserve(place) }
        for (name, _, place) in try named("patternProperties") {
            let pattern = try pattern(name, JSONPointer(member: name).under(member: "patternProperties"))
            members.patterns.append((pattern, try table.reserve(place)))
        }
        members.others = try schema("additionalProperties", &table)
        if !members.named.isEmpty || !members.patterns.isEmpty || members.others != nil {
            node.rules.append(.members(members))
        }
        if let names = try schema("propertyNames", &table) { node.rules.append(.names(names)) }
        for (name, value, place) in try named("dependentRequired") { try readRequired(name, value, place) }
        for (name, _, place) in try named("dependentSchemas") {
            node.rules.append(.schemaWith(name, try table.reserve(place)))
        }
        for (name, value, place) in try named("dependencies") {
            if value.array != nil {
                try readRequired(name, value, place)
            } else {
                node.rules.append(.schemaWith(name, try table.reserve(place)))
            }
        }
    }

    private mutating func readRequired(
        _ name: String, _ value: JSONValue, _ place: JSONPointer
    ) throws(JSONComplaint) {
        let keyword = place.description.dropFirst(node.pointer.description.count)
        let pointer = JSONPointer(canonical: String(keyword))
        guard let names = try texts(value, pointer) else {
            throw JSONComplaint("\(name) must be a list of names", at: pointer)
        }
        node.rules.append(.requiredWith(name, names))
    }

    // MARK: combinations

    private mutating func readCombined(_ table: inout SchemaTable) throws(JSONComplaint) {
        if object["allOf"] != nil {
            node.rules.append(.all(try schemas("allOf", &table)))
            if table.ofRequests { try table.shareReadOnly(of: object["allOf"]?.array ?? [], at: node.pointer) }
        }
        if object["anyOf"] != nil { node.rules.append(.any(try schemas("anyOf", &table))) }
        if object["oneOf"] != nil {
            let alternatives = try schemas("oneOf", &table)
            let isNamed = table.ofRequests && object["discriminator"] != nil
            node.rules.append(isNamed ? .any(alternatives) : .one(alternatives))
        }
        if let not = try schema("not", &table) { node.rules.append(.not(not)) }
        if let condition = try schema("if", &table) {
            let then = try schema("then", &table)
            node.rules.append(.condition(condition, then: then, otherwise: try schema("else", &table)))
        }
    }

    private mutating func readDynamic(_ table: inout SchemaTable) throws(JSONComplaint) {
        for word in ["$dynamicRef", "$recursiveRef"] {
            guard let reference = try text(word) else { continue }
            let target = try table.followed(reference, from: node, word)
            let fragment = URIText.split(reference).fragment ?? ""
            let anchor = word == "$recursiveRef" ? SchemaDialect.recursive : ByteText(URIText.decoded(fragment))
            let index = try table.reserve(target)
            node.rules.append(
                table.isDynamic(target, anchor)
                    ? .dynamicReference(index, anchor: anchor) : .reference(index, keyword: word))
        }
    }

    private mutating func readUnevaluated(_ table: inout SchemaTable) throws(JSONComplaint) {
        if let items = try schema("unevaluatedItems", &table) { node.rules.append(.unevaluatedItems(items)) }
        if let members = try schema("unevaluatedProperties", &table) {
            node.rules.append(.unevaluatedMembers(members))
        }
        if object["unevaluatedItems"] != nil || object["unevaluatedProperties"] != nil { table.needUnevaluated() }
    }
}
