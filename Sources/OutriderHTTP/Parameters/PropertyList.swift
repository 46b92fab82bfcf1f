// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A value of Apple's property lists, made of JSON and tagged values.
package indirect enum PropertyList: Sendable, Equatable {
    case bool(Bool)
    case integer(Int64)
    /// From 2^63 to 2^64 - 1.
    case unsigned(UInt64)
    case real(Double)
    case string(String)
    case data([UInt8])
    case date(Moment)
    case array([PropertyList])
    case dictionary([Entry])

    package struct Entry: Sendable, Equatable {
        var key: String
        var value: PropertyList
    }

    package enum Format: String, Sendable, CaseIterable { case xml, binary }

    package static let contentType = "application/x-plist"

    /// A property list has no null; complaints point into the value.
    package init(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .null: throw JSONComplaint("a property list has no null: leave it out")
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .real(let number): self = .real(number)
        case .written(let text): self = try Self.number(text)
        case .string(let text): self = .string(text)
        case .secret: self = .string(Secret.mask)
        case .array(let values):
            var list: [PropertyList] = []
            list.reserveCapacity(values.count)
            for (index, value) in values.enumerated() {
                do throws(JSONComplaint) {
                    list.append(try PropertyList(value))
                } catch {
                    throw error.under(index: index)
                }
            }
            self = .array(list)
        case .object(let object): self = try Self.object(object)
        }
    }

    private static func object(_ object: JSONObject) throws(JSONComplaint) -> PropertyList {
        switch try TaggedValue(object) {
        case .data(let bytes): return .data(bytes)
        case .date(let moment): return .date(moment)
        case .decimal(let number): return try self.number(number.plain)
        case nil: break
        }
        var entries: [Entry] = []
        entries.reserveCapacity(object.members.count)
        for member in object.members {
            do throws(JSONComplaint) {
                entries.append(Entry(key: member.name, value: try PropertyList(member.value)))
            } catch {
                throw error.under(member: member.name)
            }
        }
        return .dictionary(entries)
    }

    private static func number(_ text: String) throws(JSONComplaint) -> PropertyList {
        if let number = Int64(text) { return .integer(number) }
        if let number = UInt64(text) { return .unsigned(number) }
        guard text.utf8.contains(where: { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: "-") }),
            let number = Double(text)
        else { throw JSONComplaint("a property list has no integer of more than 64 bits") }
        return .real(number)
    }
}
