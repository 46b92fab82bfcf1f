// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct LocatorTests {
    private static func member(_ name: String, of text: String) -> String? {
        let bytes = utf8(text)
        let range = bytes.withUnsafeBufferPointer { JSONLocator.range(ofMember: name, in: $0) }
        return range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test(
        arguments: [
            ("[]", []), (" [ ] ", []), ("[1]", ["1"]),
            (
                #"[ 1 , "a]," , [2,[3]] , {"b":[4]} , null ]"#,
                ["1", #""a],""#, "[2,[3]]", #"{"b":[4]}"#, "null"]
            ), ("{}", []), (#""[1]""#, []), ("7", []),
        ] as [(String, [String])])
    func `the values of an array are found where they stand`(text: String, values: [String]) {
        let bytes = utf8(text)
        let ranges = bytes.withUnsafeBufferPointer { JSONLocator.elements(in: $0) }
        #expect(ranges.map { String(decoding: bytes[$0], as: UTF8.self) } == values)
    }

    @Test(arguments: [
        (#"{"a":1}"#, "a", "1"), (#"{ "b" : 2 , "a" : [1, 2] }"#, "a", "[1, 2]"), (#"{"b":{"a":1},"a":2}"#, "a", "2"),
        (#"{"a":"x,}:\"y"}"#, "a", #""x,}:\"y""#), (#"{"x":"a\":","a":true}"#, "a", "true"),
        (#"{"\u0061":null}"#, "a", "null"),
        (#"{"a":{"b":[{"c":"}"}]} , "d":1}"#, "a", #"{"b":[{"c":"}"}]}"#), (#"{"a":1}"#, "b", nil),
        (#"[{"a":1}]"#, "a", nil),
        (#""a""#, "a", nil), ("{}", "a", nil), (#"{"b":"a","c":"d"}"#, "a", nil), (#"{"a":  -1.5e3  }"#, "a", "-1.5e3"),
        (#"{"a":[],"b":{}}"#, "b", "{}"), (#"{"":0}"#, "", "0"), (#"{"b":[1,2,3],"a":0}"#, "a", "0"), ("1", "a", nil),
    ])
    func `the text of a member is found`(text: String, name: String, value: String?) {
        #expect(Self.member(name, of: text) == value)
    }

    @Test func `what is found is what the parser would give`() throws {
        var values = RandomValues(random: SeededRandom(seed: 41))
        for _ in 0..<1000 {
            guard case .object(let object) = values.value() else { continue }
            let text = written(object)
            for member in object.members {
                let found = try #require(Self.member(member.name, of: text))
                #expect(try parsed(found) == member.value)
            }
        }
    }

    @Test func `a place in any bytes has some pointer`() {
        var random = SeededRandom(seed: 42)
        let spice = utf8("{}[]\",:\\ a1\u{e9}")
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in spice.randomElement(using: &random) ?? 0
            }
            for offset in [0, bytes.count / 2, bytes.count, bytes.count + 10] {
                let pointer = bytes.withUnsafeBufferPointer { JSONLocator.pointer(at: offset, in: $0) }
                #expect(pointer.description.isEmpty || pointer.description.hasPrefix("/"))
            }
        }
    }

    @Test func `pointers grow from the inside`() {
        let pointer = JSONPointer(member: "c~/d").under(index: 3).under(member: "a b").under(member: "")
        #expect(pointer.description == "//a b/3/c~0~1d")
        #expect(JSONPointer.root.description.isEmpty)
        #expect(JSONPointer(index: 0).appending(JSONPointer(member: "x")).description == "/0/x")
    }
}
