// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Compiles a schema document to its compact form; each schema is compiled once, for all references to that schema.
struct SchemaCompiler {
    private var table: SchemaTable

    /// Throws if the budget is used up.
    init(
        _ document: JSONValue, formats: Bool, ofRequests: Bool = false, _ budget: WorkBudget
    ) throws(JSONComplaint) {
        table = try SchemaTable(document, formats: formats, ofRequests: ofRequests, budget)
    }

    var budget: WorkBudget {
        get { table.budget }
        set { table.budget = newValue }
    }

    var finished: SchemaNodes { table.nodes }

    /// Compiles the schema at that place, and all schemas that it refers to.
    mutating func compile(at pointer: JSONPointer) throws(JSONComplaint) -> Int {
        let before = table.list.count
        let root = try table.reserve(pointer)
        table.root = pointer
        do throws(JSONComplaint) {
            while let next = table.next() { try fill(next.node, next.pointer) }
            try table.reserveAnchors()
            while let next = table.next() { try fill(next.node, next.pointer) }
        } catch {
            table.remove(from: before)
            throw error
        }
        return root
    }

    private mutating func fill(_ index: Int, _ pointer: JSONPointer) throws(JSONComplaint) {
        guard let value = table.value(at: pointer) else {
            throw JSONComplaint("there is no schema here", at: pointer)
        }
        switch value {
        case .bool(let always): table.list[index].always = always
        case .object(let object):
            table.list[index].resource = try table.resource(of: value, at: pointer)
            do throws(JSONComplaint) {
                var reader = SchemaReader(object, table.list[index])
                try reader.read(&table)
                table.list[index] = reader.node
            } catch {
                throw JSONComplaint(error.message, at: pointer.appending(error.pointer))
            }
        default: throw JSONComplaint("a schema must be an object, true or false, not \(value.typeName)", at: pointer)
        }
    }
}
