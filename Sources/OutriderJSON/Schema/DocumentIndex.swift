// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds values of a document by pointer, in time independent of the number of members of an object.
///
/// An object keeps its members in a list. Looking up each of 100,000 references in a list of 100,000 schemas would take
/// minutes, so the names of a large object are indexed at the first lookup.
package struct DocumentIndex {
    package let document: JSONValue
    /// The members of large objects by name, under the pointer of the object.
    private var indexes: [ByteText: [ByteText: Int]] = [:]

    private static let largeObject = 32

    package init(_ document: JSONValue) { self.document = document }

    /// The value at that place; nil if there is none.
    package mutating func value(at pointer: JSONPointer) -> JSONValue? {
        var value = document
        let text = pointer.description
        var place = text.startIndex
        while place < text.endIndex {
            let start = text.utf8.index(after: place)
            let end = text.utf8[start...].firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
            guard let name = JSONPointer.name(text[start..<end]) else { return nil }
            switch value {
            case .object(let object):
                guard let inner = member(name, of: object, at: text[..<place]) else { return nil }
                value = inner
            case .array(let values):
                guard let index = Int(name), values.indices.contains(index), index.description == name else {
                    return nil
                }
                value = values[index]
            default: return nil
            }
            place = end
        }
        return value
    }

    private mutating func member(_ name: String, of object: JSONObject, at place: Substring) -> JSONValue? {
        guard object.members.count > Self.largeObject else { return object[name] }
        let key = ByteText(String(place))
        if indexes[key] == nil {
            indexes[key] = Dictionary(
                object.members.enumerated().map { (ByteText($1.name), $0) }, uniquingKeysWith: { first, _ in first })
        }
        return indexes[key]?[ByteText(name)].map { object.members[$0].value }
    }
}
