// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Compiles a schema document to its compact form.
///
/// Each schema is compiled once, for all references to that schema; references are followed last, one after the other,
/// so that a chain of them needs no stack.
struct SchemaCompiler {
    private var document: DocumentIndex
    let dialect: SchemaDialect
    let formats: Bool
    private var places: SchemaPlaces
    private var list: [SchemaNode] = []
    private var known: [ByteText: Int] = [:]
    private var waiting: [(node: Int, pointer: JSONPointer)] = []
    private(set) var hasUnevaluated = false
    var budget: WorkBudget

    /// Throws if the budget is used up.
    init(_ document: JSONValue, formats: Bool, _ budget: WorkBudget) throws(JSONComplaint) {
        self.document = DocumentIndex(document)
        self.formats = formats
        self.budget = budget
        dialect = SchemaDialect(document)
        places = SchemaPlaces(dialect)
        try places.add(document, at: .root, in: 0, &self.budget)
    }

    var finished: SchemaNodes {
        let anchors = places.dynamic.map { anchors in
            anchors.reduce(into: [ByteText: Int]()) { nodes, anchor in
                nodes[anchor.key] = known[ByteText(anchor.value.description)]
            }
        }
        return SchemaNodes(
            list, anchors: anchors, hasUnevaluated: hasUnevaluated, containsEvaluates: dialect.containsEvaluates)
    }

    /// Compiles the schema at that place, and all schemas that it refers to.
    mutating func compile(at pointer: JSONPointer) throws(JSONComplaint) -> Int {
        let before = list.count
        let root = try reserve(pointer)
        do throws(JSONComplaint) {
            while let next = waiting.popLast() { try fill(next.node, next.pointer) }
            for anchors in places.dynamic {
                for place in anchors.values where known[ByteText(place.description)] == nil { _ = try reserve(place) }
            }
            while let next = waiting.popLast() { try fill(next.node, next.pointer) }
        } catch {
            // removes incomplete schemas, so that later calls do not find them
            waiting = []
            list.removeSubrange(before...)
            known = known.filter { $0.value < before }
            throw error
        }
        return root
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

    private mutating func fill(_ index: Int, _ pointer: JSONPointer) throws(JSONComplaint) {
        guard let value = document.value(at: pointer) else {
            throw JSONComplaint("there is no schema here", at: pointer)
        }
        switch value {
        case .bool(let always): list[index].always = always
        case .object(let object):
            // the target of a reference may be outside the keywords for schemas
            if places.resource(at: pointer) == nil {
                try places.add(value, at: pointer, in: enclosing(pointer), &budget)
            }
            list[index].resource = places.resource(at: pointer) ?? 0
            var node = list[index]
            do throws(JSONComplaint) {
                var reader = SchemaReader(object, node)
                try reader.read(&self)
                node = reader.node
            } catch {
                throw JSONComplaint(error.message, at: pointer.appending(error.pointer))
            }
            list[index] = node
        default: throw JSONComplaint("a schema must be an object, true or false, not \(value.typeName)", at: pointer)
        }
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

    mutating func needUnevaluated() { hasUnevaluated = true }
}
