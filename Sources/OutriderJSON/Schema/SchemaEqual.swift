// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A value with the equality of JSON Schema: members in any order, numbers by value, texts by their bytes.
struct SchemaEqual: Hashable {
    let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    static func == (one: SchemaEqual, other: SchemaEqual) -> Bool { same(one.value, other.value) }

    static func same(_ one: JSONValue, _ other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): return true
        case (.bool(let one), .bool(let other)): return one == other
        case (.string(let one), .string(let other)): return one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)):
            return one.count == other.count && zip(one, other).allSatisfy { same($0, $1) }
        case (.object(let one), .object(let other)): return same(one, other)
        default: return SchemaNumber.order(one, other) == 0
        }
    }

    private static func same(_ one: JSONObject, _ other: JSONObject) -> Bool {
        guard one.members.count == other.members.count else { return false }
        if one.members.count <= 8 {
            return one.members.allSatisfy { member in other[member.name].map { same(member.value, $0) } ?? false }
        }
        let others = Dictionary(
            other.members.map { (ByteText($0.name), $0.value) }, uniquingKeysWith: { first, _ in first })
        return one.members.allSatisfy { member in others[ByteText(member.name)].map { same(member.value, $0) } ?? false
        }
    }

    func hash(into hasher: inout Hasher) { Self.add(value, to: &hasher) }

    private static func add(_ value: JSONValue, to hasher: inout Hasher) {
        switch value {
        case .null: hasher.combine(0)
        case .bool(let flag): hasher.combine(flag)
        case .integer, .real, .written: hasher.combine(SchemaNumber(value))
        case .string(let text): hasher.combine(ByteText(text))
        case .secret(let secret): hasher.combine(secret)
        case .array(let values):
            hasher.combine(values.count)
            for value in values { add(value, to: &hasher) }
        case .object(let object):
            var sum = 0
            for member in object.members {
                var inner = Hasher()
                inner.combine(ByteText(member.name))
                add(member.value, to: &inner)
                sum &+= inner.finalize()
            }
            hasher.combine(sum)
        }
    }
}
