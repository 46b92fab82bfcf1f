// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

/// Documents that stand for much more than they hold.
struct BudgetTests {
    @Test func `a budget that is used up stays so`() {
        var budget = WorkBudget(values: 2, bytes: 10)
        #expect(throws: Never.self) { try budget.spend(bytes: 10) }
        #expect(throws: JSONComplaint.self) { try budget.spend(bytes: 1) }
        #expect(throws: JSONComplaint.self) { try budget.spend(values: 0) }
        #expect(budget.complaint != nil)
    }

    @Test func `the time is looked at now and then`() {
        var budget = WorkBudget(isLate: { true })
        #expect(throws: JSONComplaint.self) { for _ in 0..<100 { try budget.spend() } }
        var other = WorkBudget(isLate: { false })
        #expect(throws: Never.self) { for _ in 0..<1000 { try other.spend() } }
    }

    @Test func `long names above many schemas use the budget up`() throws {
        let inner = JSONObject(members: (0..<1000).map { .init("p\($0)", .object([:])) })
        let name = String(repeating: "n", count: 10_000)
        let schema = JSONValue.object(["$defs": .object([name: .object(["properties": .object(inner)])])])
        var budget = WorkBudget(bytes: 1 << 20)
        let complaint = #expect(throws: JSONComplaint.self) { try JSONSchema(schema, budget: &budget) }
        #expect(complaint?.message.contains("is refused") == true)
    }

    /// - Parameter base: the members of a schema that the others refer to, and of which one is `readOnly`.
    private static func refer(
        _ others: Int, to base: Int, _ more: String = "", chained: Bool = false
    ) throws -> (document: JSONValue, places: [JSONPointer]) {
        let members = (0..<base).map { #""p\#($0)":{"readOnly":\#($0 == base - 1)}"# }.joined(separator: ",")
        let schemas = (0..<others).map { index in
            let next = chained && index > 0 ? "s\(index - 1)" : "base"
            return ##""s\##(index)":{"allOf":[{"$ref":"#/$defs/\##(next)"}]\##(more)}"##
        }
        let roots = (0..<others).map { ##"{"properties":{"body":{"$ref":"#/$defs/s\##($0)"}}}"## }
        let text =
            #"{"roots":[\#(roots.joined(separator: ","))],"$defs":{"base":{"properties":{\#(members)}},"#
            + schemas.joined(separator: ",") + "}}"
        return (
            try parsed(text),
            (0..<others).map { JSONPointer(index: $0).under(member: "roots") }
        )
    }

    @Test func `the readOnly members of a schema are read once for all that refer to it`() throws {
        let (document, places) = try Self.refer(500, to: 300, #","required":["p0","p299"]"#)
        // reading the members for each schema would take 150,000
        var budget = WorkBudget(values: 10_000)
        let schemas = try JSONSchema.all(in: document, at: places, ofRequests: true, budget: &budget)
        for schema in schemas {
            #expect(try schema.get().faults(in: .object(["body": .object(["p0": .null])])).isEmpty)
            #expect(try !schema.get().faults(in: .object(["body": .object(["p299": .null])])).isEmpty)
        }
    }

    @Test func `looking for readOnly members uses the budget up`() throws {
        let limit = 10_000
        var budget = WorkBudget(values: limit)
        let (plain, places) = try Self.refer(200, to: 1, chained: true)
        #expect(throws: Never.self) {
            try JSONSchema.all(in: plain, at: places, ofRequests: true, budget: &budget)
        }
        budget = WorkBudget(values: limit)
        let (document, _) = try Self.refer(200, to: 1, #","required":["p0"]"#, chained: true)
        #expect(throws: JSONComplaint.self) {
            try JSONSchema.all(in: document, at: places, ofRequests: true, budget: &budget)
        }
    }

    @Test func `a pointer is read in time that grows with its length`() throws {
        let text = String(repeating: "/a", count: 500_000)
        #expect(JSONPointer(written: text)?.description == text)
        #expect(JSONPointer(written: "/a~2") == nil && JSONPointer(written: "/a~") == nil)
        #expect(JSONPointer(written: "/a~01~1")?.names == ["a~1/"])
    }

    @Test func `large objects are searched by name as small ones are`() {
        let object = JSONObject(members: (0..<100).map { .init("m\($0)", .array([.integer(Int64($0))])) })
        var index = DocumentIndex(.object(["a/b": .object(object)]))
        #expect(index.value(at: JSONPointer(written: "/a~1b/m99/0") ?? .root) == .integer(99))
        #expect(index.value(at: JSONPointer(written: "/a~1b/m100") ?? .root) == nil)
        #expect(index.value(at: JSONPointer(written: "/a~1b/m1/00") ?? .root) == nil)
        #expect(index.value(at: .root) == index.document)
    }
}
