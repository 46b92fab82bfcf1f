// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Parameters that many methods have in common, with their complaints.
extension JSONFields {
    mutating func integer(_ name: StaticString, in range: ClosedRange<Int>) throws(JSONComplaint) -> Int? {
        try optional(name, as: Int.self) { number in
            range.contains(number) ? nil : "must be from \(range.lowerBound) to \(range.upperBound)"
        }
    }

    mutating func number(_ name: StaticString, in range: ClosedRange<Double>) throws(JSONComplaint) -> Double? {
        try optional(name, as: Double.self) { number in
            range.contains(number)
                ? nil : "must be from \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
        }
    }

    private static func text(_ number: Double) -> String { Int(exactly: number)?.description ?? number.description }

    /// A word of a fixed set.
    mutating func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: StaticString, of type: Choice.Type = Choice.self
    ) throws(JSONComplaint) -> Choice? {
        guard let word = try optional(name, as: String.self) else { return nil }
        if let choice = Choice(rawValue: word) { return choice }
        let words = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw JSONComplaint("\(name) must be one of \(words)", at: JSONPointer(member: name.description))
    }

    /// Methods that those of requests are compared with.
    mutating func methods(_ name: StaticString) throws(JSONComplaint) -> [String]? {
        try texts(name, check: FieldRules.fault(inComparedMethod:))
    }

    /// Texts, each checked: `check` returns the fault, as "must be …", or nil. The complaint names the text at fault.
    mutating func texts(
        _ name: StaticString, most: Int = .max, check: (String) -> String?
    ) throws(JSONComplaint) -> [String]? {
        guard let list = try optional(name, as: [String].self) else { return nil }
        if list.count > most {
            throw JSONComplaint("must hold at most \(most)").under(member: name.description)
        }
        for (index, text) in list.enumerated() {
            guard let fault = check(text) else { continue }
            throw JSONComplaint(fault).under(index: index).under(member: name.description)
        }
        return list
    }
}
