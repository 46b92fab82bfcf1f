// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Names and values as text for the query of a URL.
///
/// By default: in the order given, a list repeats its name, true is `1` and false `0`, null is left out, an object inside
/// puts its names into brackets; all but letters, digits and `-._~/?` percent-encoded as UTF-8 with capital digits.
package struct QueryEncoding: Sendable {
    package enum Arrays: Sendable {
        /// `a=1&a=2`
        case repeated
        /// `a[]=1&a[]=2`
        case brackets
        /// `a[0]=1&a[1]=2`
        case indices
    }

    package enum Bools: Sendable {
        /// `1` and `0`
        case numeric
        /// `true` and `false`
        case literal
    }

    package enum Nulls: Sendable {
        /// left out
        case dropped
        /// `a=`
        case empty
        /// `a=null`
        case word
    }

    package var arrays = Arrays.repeated
    package var bools = Bools.numeric
    package var nulls = Nulls.dropped
    var escaping = PercentEncoding.query

    package init() {}

    /// The text, empty for the empty object. `at` is the pointer to the object, for complaints.
    package func encode(_ object: JSONObject, at pointer: String) throws(HTTPFailure) -> String {
        pairs(of: object).map { "\(escaping.escape($0.name))=\(escaping.escape($0.value))" }.joined(separator: "&")
    }

    /// The pairs before escaping.
    package func pairs(of object: JSONObject) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for member in object.members { append(member.name, member.value, to: &pairs) }
        return pairs
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private func append(_ name: String, _ value: JSONValue, to pairs: inout [(name: String, value: String)]) {
        switch value {
        case .string(let text): pairs.append((name, text))
        case .integer(let number): pairs.append((name, String(number)))
        case .real(let number): pairs.append((name, number.description))
        case .bool(let flag):
            switch bools {
            case .numeric: pairs.append((name, flag ? "1" : "0"))
            case .literal: pairs.append((name, flag ? "true" : "false"))
            }
        case .null:
            switch nulls {
            case .dropped: break
            case .empty: pairs.append((name, ""))
            case .word: pairs.append((name, "null"))
            }
        case .array(let values):
            for (index, value) in values.enumerated() { append(element(name, index), value, to: &pairs) }
        case .object(let object):
            for member in object.members { append("\(name)[\(member.name)]", member.value, to: &pairs) }
        }
    }

    private func element(_ name: String, _ index: Int) -> String {
        switch arrays {
        case .repeated: name
        case .brackets: "\(name)[]"
        case .indices: "\(name)[\(index)]"
        }
    }
}
