// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The facts about a document that a compiler of schemas needs before it can follow references: the parts with an
/// `$id`, and the anchors.
struct SchemaPlaces {
    /// The URI of each resource; the first is the document itself.
    private(set) var bases: [String] = [""]
    /// The dynamic anchors of each resource, by name.
    private(set) var dynamic: [[ByteText: JSONPointer]] = [[:]]
    private var anchors: [[ByteText: JSONPointer]] = [[:]]
    private var roots: [JSONPointer] = [.root]
    private var resources: [ByteText: Int] = [ByteText(""): 0]
    private var byPointer: [ByteText: Int] = [:]
    private let dialect: SchemaDialect

    init(_ dialect: SchemaDialect) { self.dialect = dialect }

    /// The resource that a schema belongs to, itself included.
    func resource(at pointer: JSONPointer) -> Int? { byPointer[ByteText(pointer.description)] }

    /// Records a schema and all its subschemas; repeating the call has no effect. Throws if the budget is used up.
    mutating func add(
        _ schema: JSONValue, at pointer: JSONPointer, in resource: Int, _ budget: inout WorkBudget
    ) throws(JSONComplaint) {
        guard case .object(let object) = schema, self.resource(at: pointer) == nil else { return }
        try budget.spend(bytes: pointer.description.utf8.count)
        var resource = resource
        if !(dialect.ignoresBesideReference && object["$ref"] != nil) {
            for word in dialect.idWords {
                if let id = object[word]?.string { try name(id, pointer, &resource, &budget) }
            }
            if let anchor = object["$anchor"]?.string { anchors[resource][ByteText(anchor)] = pointer }
            if let anchor = object["$dynamicAnchor"]?.string {
                anchors[resource][ByteText(anchor)] = pointer
                dynamic[resource][ByteText(anchor)] = pointer
            }
            if object["$recursiveAnchor"] == .bool(true) { dynamic[resource][SchemaDialect.recursive] = pointer }
        }
        byPointer[ByteText(pointer.description)] = resource
        for (inner, place) in SchemaDialect.schemas(in: object, at: pointer) {
            try add(inner, at: place, in: resource, &budget)
        }
    }

    private mutating func name(
        _ id: String, _ pointer: JSONPointer, _ resource: inout Int, _ budget: inout WorkBudget
    ) throws(JSONComplaint) {
        let (uri, fragment) = URIText.split(id)
        if !uri.isEmpty {
            try budget.spend(values: 0, bytes: bases[resource].utf8.count)
            let base = URIText.resolve(uri, against: bases[resource])
            resource = bases.count
            bases.append(base)
            dynamic.append([:])
            anchors.append([:])
            roots.append(pointer)
            if resources[ByteText(base)] == nil || resources[ByteText(base)] == 0 {
                resources[ByteText(base)] = resource
            }
        }
        // the spelling of anchors until draft 7
        if let fragment, !fragment.isEmpty, !fragment.hasPrefix("/") { anchors[resource][ByteText(fragment)] = pointer }
    }

    /// The target of a reference; nil if the reference leads out of the document, or to no schema.
    func target(of reference: String, in resource: Int) -> JSONPointer? {
        let (uri, fragment) = URIText.split(reference)
        var home = resource
        if !uri.isEmpty {
            guard let found = resources[ByteText(URIText.resolve(uri, against: bases[resource]))] else { return nil }
            home = found
        }
        guard let fragment, !fragment.isEmpty else { return roots[home] }
        let name = URIText.decoded(fragment)
        if name.hasPrefix("/") { return JSONPointer(written: name).map(roots[home].appending) }
        return anchors[home][ByteText(name)]
    }
}
