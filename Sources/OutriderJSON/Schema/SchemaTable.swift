// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The schemas that the compiler has met in a document, each with its number: reserved at the first reference, filled
/// later. References are followed last, one after the other, so that a chain of them needs no stack.
struct SchemaTable {
    private var document: DocumentIndex
    let dialect: SchemaDialect
    let formats: Bool
    /// Whether OpenAPI's rules for requests hold.
    let ofRequests: Bool
    /// The schema that is being compiled with all its references.
    var root: JSONPointer?
    /// The `readOnly` members that the other schemas of the same `allOf` describe.
    var readOnlyBeside: [JSONPointer: [Set<ByteText>]] = [:]
    /// The `readOnly` members by the place of the schema; the budget limits them.
    var readOnly: [ByteText: ReadOnlyMembers] = [:]
    private var places: SchemaPlaces
    var list: [SchemaNode] = []
    private var known: [ByteText: Int] = [:]
    private var waiting: [(node: Int, pointer: JSONPointer)] = []
    private(set) var hasUnevaluated = false
    var budget: WorkBudget

    /// Throws if the budget is used up.
    init(
        _ document: JSONValue, formats: Bool, ofRequests: Bool, _ budget: WorkBudget
    ) throws(JSONComplaint) {
        self.document = DocumentIndex(document)
        self.formats = formats
        self.ofRequests = ofRequests
        self.budget = budget
        dialect = SchemaDialect(document)
        places = SchemaPlaces(dialect)
        try places.add(document, at: .root, in: 0, &self.budget)
    }

    var nodes: SchemaNodes {
        let anchors = places.dynamic.map { anchors in
            anchors.reduce(into: [ByteText: Int]()) { nodes, anchor in
                nodes[anchor.key] = known[ByteText(anchor.value.description)]
            }
        }
        return SchemaNodes(
            list, anchors: anchors, hasUnevaluated: hasUnevaluated, containsEvaluates: dialect.containsEvaluates)
    }

    /// The index of the schema at that place, reserved if necessary.
    mutating func reserve(_ pointer: JSONPointer) throws(JSONComplaint) -> Int {
        let key = ByteText(pointer.description)
        if let node = known[key] { return node }
        try budget.spend(bytes: key.text.utf8.count)
        known[key] = list.count
        waiting.append((list.count, pointer))
        list.append(SchemaNode(pointer: pointer, resource: 0))
        return list.count - 1
    }

    /// Reserves the schemas that dynamic references may reach.
    mutating func reserveAnchors() throws(JSONComplaint) {
        for anchors in places.dynamic {
            for place in anchors.values where known[ByteText(place.description)] == nil { _ = try reserve(place) }
        }
    }

    /// A schema that is reserved and not yet filled.
    mutating func next() -> (node: Int, pointer: JSONPointer)? { waiting.popLast() }

    /// Removes the schemas from that number on, so that later calls do not find incomplete schemas.
    mutating func remove(from first: Int) {
        waiting = []
        list.removeSubrange(first...)
        known = known.filter { $0.value < first }
    }

    mutating func value(at pointer: JSONPointer) -> JSONValue? { document.value(at: pointer) }

    /// The resource that a schema belongs to.
    mutating func resource(of schema: JSONValue, at pointer: JSONPointer) throws(JSONComplaint) -> Int {
        // the target of a reference may be outside the keywords for schemas
        if places.resource(at: pointer) == nil {
            try places.add(schema, at: pointer, in: enclosing(pointer), &budget)
        }
        return places.resource(at: pointer) ?? 0
    }

    private func enclosing(_ pointer: JSONPointer) -> Int {
        var text = pointer.description[...]
        while let slash = text.lastIndex(of: "/") {
            text = text[..<slash]
            if let place = JSONPointer(written: String(text)), let resource = places.resource(at: place) {
                return resource
            }
        }
        return 0
    }

    /// The target of a reference in a node.
    mutating func target(of reference: String, from node: SchemaNode) throws(JSONComplaint) -> JSONPointer {
        // each resolution takes time in proportion to both texts, even for a repeated reference
        let base = reference.hasPrefix("#") ? 0 : places.bases[node.resource].utf8.count
        try budget.spend(values: 0, bytes: reference.utf8.count + base)
        if let target = places.target(of: reference, in: node.resource) {
            let isKnown = known[ByteText(target.description)] != nil
            if isKnown || document.value(at: target) != nil { return target }
        }
        let uri = URIText.split(reference).uri
        let isOutside = !uri.isEmpty
        throw JSONComplaint(
            isOutside
                ? "refers to \(reference.excerpt), which is not in this document: no schema is fetched, so put it under $defs with its $id"
                : "refers to \(reference.excerpt), which is not in this document")
    }

    func isDynamic(_ target: JSONPointer, _ anchor: ByteText) -> Bool {
        places.dynamic.contains { $0[anchor] == target }
    }

    mutating func needUnevaluated() { hasUnevaluated = true }
}

extension SchemaTable {
    /// The target of a reference, or a complaint about its keyword.
    mutating func followed(_ reference: String, from node: SchemaNode, _ word: String) throws(JSONComplaint)
        -> JSONPointer
    {
        do throws(JSONComplaint) {
            return try target(of: reference, from: node)
        } catch {
            throw JSONComplaint("\(word) \(error.message)", at: JSONPointer(member: word))
        }
    }
}
