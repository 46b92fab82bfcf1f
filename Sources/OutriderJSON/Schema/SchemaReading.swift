// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads the values of keywords: texts, counts, schemas and lists of schemas.
extension SchemaReader {
    func fault(_ word: String, _ reason: String) -> JSONComplaint {
        JSONComplaint("\(word) \(reason)", at: JSONPointer(member: word))
    }

    func text(_ word: String) throws(JSONComplaint) -> String? {
        guard let value = object[word] else { return nil }
        guard let text = value.string else { throw fault(word, "must be a string, not \(value.typeName)") }
        return text
    }

    func pattern(_ text: String, _ pointer: JSONPointer) throws(JSONComplaint) -> LinearPattern {
        do throws(JSONComplaint) {
            return try LinearPattern(text)
        } catch {
            throw JSONComplaint("\(text.prefix(80)) \(error.message)", at: pointer)
        }
    }

    /// Two counts; nil if both are absent.
    func bounds(_ least: String, _ most: String) throws(JSONComplaint) -> (least: Int, most: Int?)? {
        let low = try count(least)
        let high = try count(most)
        if low == nil && high == nil { return nil }
        return (low ?? 0, high)
    }

    private func count(_ word: String) throws(JSONComplaint) -> Int? {
        guard let value = object[word] else { return nil }
        guard let number = value.integer, number >= 0 else {
            throw fault(word, "must be an integer that is not negative")
        }
        return Int(exactly: number) ?? Int.max
    }

    /// The names in a list; nil if absent, or for the permitted boolean in place of a list.
    func texts(_ value: JSONValue?, _ pointer: JSONPointer) throws(JSONComplaint) -> [String]? {
        switch value {
        case nil, .bool: return nil
        case .array(let values):
            var names: [String] = []
            for (index, value) in values.enumerated() {
                guard let name = value.string else {
                    throw JSONComplaint(
                        "must be a string, not \(value.typeName)", at: pointer.appending(JSONPointer(index: index)))
                }
                names.append(name)
            }
            return names
        case .some(let other): throw JSONComplaint("must be a list of names, not \(other.typeName)", at: pointer)
        }
    }

    /// The schema under a keyword.
    func schema(_ word: String, _ table: inout SchemaTable) throws(JSONComplaint) -> Int? {
        guard object[word] != nil else { return nil }
        return try table.reserve(node.pointer.appending(JSONPointer(member: word)))
    }

    func schemas(_ word: String, _ table: inout SchemaTable) throws(JSONComplaint) -> [Int] {
        guard let values = object[word]?.array else { throw fault(word, "must be a list of schemas") }
        let place = node.pointer.appending(JSONPointer(member: word))
        var found: [Int] = []
        for index in values.indices { found.append(try table.reserve(place.appending(JSONPointer(index: index)))) }
        return found
    }

    /// The members of a keyword whose value is an object, with their places.
    func named(_ word: String) throws(JSONComplaint) -> [(name: String, value: JSONValue, place: JSONPointer)] {
        guard let value = object[word] else { return [] }
        guard let members = value.object?.members else { throw fault(word, "must be an object, not \(value.typeName)") }
        let place = node.pointer.appending(JSONPointer(member: word))
        return members.map { ($0.name, $0.value, place.appending(JSONPointer(member: $0.name))) }
    }
}
