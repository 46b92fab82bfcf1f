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
