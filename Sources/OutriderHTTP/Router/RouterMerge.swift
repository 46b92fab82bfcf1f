// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Merges the settings of a request over the router's defaults, member by member of a RequestSpec.
///
/// `headers` merge by name without regard to case, `query`, `parameters` and `timeout` by name; all other members are
/// replaced as a whole. Null means absent, and replaces nothing.
enum RouterMerge {
    static func cover(_ below: JSONObject, with above: JSONObject) -> JSONObject {
        var merged = below
        for member in above.members where member.value != .null {
            merged[member.name] = cover(member.name, merged[member.name], with: member.value)
        }
        return merged
    }

    private static func cover(_ name: String, _ below: JSONValue?, with above: JSONValue) -> JSONValue {
        guard let below else { return above }
        switch name {
        case "headers": return headers(below, above)
        case "query", "parameters", "timeout":
            guard case .object(let one) = below, case .object(let other) = above else { return above }
            return .object(members(one, other))
        default: return above
        }
    }

    /// Existing names keep their place.
    static func members(_ below: JSONObject, _ above: JSONObject) -> JSONObject {
        var merged = below
        if below.members.count + above.members.count <= fewMembers {
            for member in above.members { merged[member.name] = member.value }
            return merged
        }
        var places: [[UInt8]: Int] = [:]
        for (index, member) in below.members.enumerated() { places[Array(member.name.utf8)] = index }
        for member in above.members {
            let name = Array(member.name.utf8)
            if let place = places[name] {
                merged.members[place].value = member.value
            } else {
                places[name] = merged.members.count
                merged.members.append(member)
            }
        }
        return merged
    }

    /// Of which each is looked for among all.
    private static let fewMembers = 32

    /// A malformed list of fields stays unchanged, so that the parser of requests reports the error.
    static func headers(_ below: JSONValue, _ above: JSONValue) -> JSONValue {
        guard let one = fields(below), let other = fields(above) else { return above }
        let names = FieldNames(other.lazy.map(\.name))
        let kept = one.filter { !names.contains($0.name) }
        return .array((kept + other).flatMap { field in field.values.map { Self.field(field.name, $0) } })
    }

    static func field(_ name: String, _ value: String) -> JSONValue {
        .object(["name": .string(name), "value": .string(value)])
    }

    /// Each name with its values; a name with an empty list deletes the default.
    private static func fields(_ value: JSONValue) -> [(name: String, values: [String])]? {
        switch value {
        case .object(let object):
            var found: [(name: String, values: [String])] = []
            for member in object.members {
                switch member.value {
                case .null: continue
                case .string(let text): found.append((member.name, [text]))
                case .array(let values):
                    let texts = values.compactMap(\.string)
                    guard texts.count == values.count else { return nil }
                    found.append((member.name, texts))
                default: return nil
                }
            }
            return found
        case .array(let values):
            var found: [(name: String, values: [String])] = []
            for value in values {
                guard let name = value.object?["name"]?.string, let text = value.object?["value"]?.string else {
                    return nil
                }
                found.append((name, [text]))
            }
            return found
        default: return nil
        }
    }
}
