// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Compiles the schemas of all endpoints at once, so that shared schemas are compiled once.
extension OpenAPIImport {
    /// An unusable pattern or reference is removed with a note; all else stays. Throws if the budget is exhausted.
    mutating func compileSchemas() throws(JSONComplaint) {
        guard case .object(var object) = source.document.document else { return }
        object[Self.shelf] = .object(JSONObject(members: schemas))
        var whole = JSONValue.object(object)
        let places = schemas.map { JSONPointer(member: $0.name).under(member: Self.shelf) }
        for _ in 0..<64 {
            let compiled = try JSONSchema.all(in: whole, at: places, ofRequests: true, budget: &source.budget)
            var faults: [JSONPointer: String] = [:]
            for case .failure(let complaint) in compiled { faults[complaint.pointer] = complaint.message }
            if faults.isEmpty {
                for (index, schema) in compiled.enumerated() { endpoints[index].schema = try? schema.get() }
                break
            }
            for (pointer, message) in faults.sorted(by: { $0.key.description < $1.key.description }) {
                try source.budget.look()
                source.note(pointer, "left out of the checks: \(message)")
                whole.remove(at: pointer)
            }
        }
        var finished = DocumentIndex(whole)
        var definitions = RouterDefinitions()
        for (index, place) in places.enumerated() {
            let params = finished.value(at: place)
            endpoints[index].params = params.map { definitions.parameters($0, in: &finished) }
        }
        definitions.complete(from: &finished)
        self.definitions = definitions.schemas
    }
}

extension JSONValue {
    /// Removes a member or an element; without effect if absent.
    fileprivate mutating func remove(at pointer: JSONPointer) {
        remove(pointer.names[...])
    }

    private mutating func remove(_ names: ArraySlice<String>) {
        guard let name = names.first else { return }
        switch self {
        case .object(var object):
            // otherwise the object would have two references during the change, and be copied
            self = .null
            if names.count == 1 {
                object[name] = nil
            } else if var inner = object[name] {
                object[name] = .null
                inner.remove(names.dropFirst())
                object[name] = inner
            }
            self = .object(object)
        case .array(var values):
            guard let index = Int(name), values.indices.contains(index) else { return }
            self = .null
            if names.count == 1 {
                // its place stays, so that pointers to the others stay right
                values[index] = .bool(true)
            } else {
                values[index].remove(names.dropFirst())
            }
            self = .array(values)
        default: return
        }
    }
}
