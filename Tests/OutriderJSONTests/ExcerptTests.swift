// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

/// How errors stay short.
struct ExcerptTests {
    @Test func `a name of up to 200 characters stays as it is`() {
        let name = String(repeating: "é", count: 200)
        #expect(name.excerpt == name)
        #expect((name + "x").excerpt == name + "…")
    }

    @Test func `one character of a megabyte is cut, too`() {
        let name = "e" + String(repeating: "\u{301}", count: 1 << 20)
        #expect(name.excerpt.utf8.count < 900)
    }

    @Test func `in a message every word is cut, and the whole`() {
        let name = String(repeating: "x", count: 1 << 20)
        #expect(Excerpt.sentence("no \(name) here, nor \(name)").utf8.count < 8192)
        #expect(Excerpt.sentence("no \(name)") == "no \(String(repeating: "x", count: 200))…")
        let list = (0..<200).map { "name\($0)" }.joined(separator: ", ")
        #expect(Excerpt.sentence(list) == list)
        #expect(Excerpt.sentence(String(repeating: "word ", count: 100_000)).utf8.count < 8192)
    }

    @Test func `in a pointer every member is cut`() {
        let name = String(repeating: "x", count: 1000)
        #expect(Excerpt.pointer("/body/\(name)/0") == "/body/\(String(repeating: "x", count: 200))…/0")
        #expect(JSONComplaint("wrong").under(member: name).under(member: "body").pointer.description.count == 207)
    }

    @Test func `data of up to 12 KiB stays as it is, and more is shortened`() {
        let short: JSONObject = ["a": .string(String(repeating: "y", count: 10_000)), "b": .array([.integer(1)])]
        #expect(ErrorData.shortened(short) == short)
        let long: JSONObject = [
            "pointer": .string("/a"),
            "names": .array(.init(repeating: .string(String(repeating: "\n", count: 500)), count: 9999)),
            String(repeating: "k", count: 1 << 20): .array(.init(repeating: .array([]), count: 100_000)),
        ]
        let cut = ErrorData.shortened(long)
        #expect(cut["pointer"] == .string("/a"))
        #expect(JSONWriter.bytes(of: JSONValue.object(cut)).count < 16 << 10)
    }
}
