// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct ParserTests {
    @Test func `values keep their kind, members their order`() throws {
        let value = try parsed(#"{"z":1,"a":1.0,"m":[true,false,null,"x"],"b":{"y":2,"x":-0.0}}"#)
        let object = try #require(value.object)
        #expect(object.members.map(\.name) == ["z", "a", "m", "b"])
        #expect(object["z"] == .integer(1))
        #expect(object["a"] == .real(1))
        #expect(object["m"] == .array([.bool(true), .bool(false), .null, .string("x")]))
        #expect(object["b"]?.object?.members.map(\.name) == ["y", "x"])
        guard case .real(let zero)? = object["b"]?.object?["x"] else {
            Issue.record("no real")
            return
        }
        #expect(zero.sign == .minus)
    }

    @Test func `a thousand members keep their order`() throws {
        let names = (0..<1000).map { "n\($0 &* 7919 % 1000)" }
        let text = "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        #expect(try parsed(text).object?.members.map(\.name) == names)
    }

    @Test(arguments: [
        ("9223372036854775807", JSONValue.integer(.max)), ("-9223372036854775808", .integer(.min)), ("0", .integer(0)),
        ("9007199254740993", .integer(9_007_199_254_740_993)), ("1.0", .real(1)), ("0.0001", .real(0.0001)),
        ("1.7976931348623157e+308", .real(.greatestFiniteMagnitude)), ("5e-324", .real(.leastNonzeroMagnitude)),
        ("0.1", .real(0.1)), ("0.30000000000000004", .real(0.1 + 0.2)), ("123456789012345.0", .real(123456789012345)),
    ])
    func `numbers are exact`(text: String, value: JSONValue) throws {
        #expect(try parsed(text) == value)
    }

    @Test(
        arguments: [
            ("9223372036854775808", nil, 9_223_372_036_854_775_808),
            ("-9223372036854775809", nil, -9.2233720368547758e18),
            ("18446744073709551615", nil, 1.8446744073709552e19), ("-0", 0, 0), ("1e2", 100, 100), ("1E2", 100, 100),
            ("1.10", nil, 1.1), ("1.00", 1, 1), ("0.00001", nil, 0.00001), ("1e-5", nil, 0.00001),
            ("123456789.123456789e-7", nil, 12.3456789123456789), ("0.1000000000000000055", nil, 0.1),
            ("1.7976931348623157e308", nil, .greatestFiniteMagnitude), ("1000000000000000000000.5", nil, 1e21),
        ] as [(String, Int64?, Double)])
    func `numbers that would read back otherwise keep their written form`(
        text: String, integer: Int64?, number: Double
    ) throws {
        let value = try parsed("{\"a\":[\"\",\(text)]}", limits: .long).object?["a"]?.array?.last
        #expect(value == .written(text))
        #expect(value?.number == number)
        #expect(value?.integer == integer)
        #expect(try written(parsed("[\(text),\"\(text)\",\(text)]", limits: .long)) == "[\(text),\"\(text)\",\(text)]")
        #expect(try parsed(text, limits: .long) == .written(text))
    }

    @Test func `every number is written as it was read`() throws {
        var random = SeededRandom(seed: 20)
        for _ in 0..<20_000 {
            var text = Bool.random(using: &random) ? "-" : ""
            let whole = UInt64.random(in: .min ... .max, using: &random) >> UInt64.random(in: 0...64, using: &random)
            text += String(whole)
            if Bool.random(using: &random) {
                let count = Int.random(in: 1...20, using: &random)
                text += "." + (0..<count).map { _ in String(Int.random(in: 0...9, using: &random)) }.joined()
            }
            if Int.random(in: 0..<4, using: &random) == 0 { text += "e\(Int.random(in: -40...40, using: &random))" }
            #expect(try written(parsed(text, limits: .long)) == text)
        }
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "1e400", "-1e400", String(repeating: "9", count: 400),
    ])
    func `numbers that do not fit are refused, not rounded`(number: String) {
        let failure = #expect(throws: JSONFailure.self) { try parsed("{\"a\":[0,\(number)]}") }
        #expect(failure?.pointer.description == "/a/1", "\(failure?.reason ?? "")")
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"b":{"c":1,"c":1}}"#, #"{"a":1,"\u0061":2}"#, #"[{"":1,"":2}]"#,
    ])
    func `duplicate names are refused`(text: String) throws {
        try JSONScanner.check(utf8(text))
        let failure = #expect(throws: JSONFailure.self) { try parsed(text) }
        #expect(failure?.reason.contains("duplicate") == true, "\(failure?.reason ?? "")")
    }

    @Test func `names that only look alike are different`() throws {
        let object = try #require(try parsed("{\"\u{e9}\":1,\"e\u{301}\":2}").object)
        #expect(object.members.count == 2)
        #expect(object["\u{e9}"] == .integer(1))
        #expect(object["e\u{301}"] == .integer(2))
    }

    @Test func `U+0000 may stand in a string, not in a name`() throws {
        #expect(try parsed(#""a\u0000b""#) == .string("a\u{0}b"))
        #expect(throws: JSONFailure.self) { try parsed(#"{"a\u0000b":1}"#) }
    }

    @Test func `strings of any length come through`() throws {
        for length in [0, 1, 7, 8, 4095, 4096, 4097, 4098, 100_000] {
            for (filling, meant) in [
                ("a", "a"), ("\u{e9}", "\u{e9}"), ("\\n", "\n"), ("\u{1F600}", "\u{1F600}"),
                ("\\u0416\\u0000", "\u{416}\0"), ("\\ud83d\\ude00\\\"\u{e9} ", "\u{1F600}\"\u{e9} "),
            ] {
                let content = String(repeating: filling, count: length)
                let expected = String(repeating: meant, count: length)
                let value = try parsed("{\"a\":\"\(content)\",\"b\":[\"\(content)\",1]}")
                #expect(value.object?["a"]?.string == expected, "\(length) of \(filling)")
                #expect(value.object?["b"]?.array?.first?.string == expected)
            }
        }
    }

    @Test func `a damaged escape ends the text of a cursor`() {
        for (written, meant) in [("ab\\n\\", "ab\n"), ("\\u12", ""), ("a\\t\\ud800b", "a\t")] {
            let text = Array(written.utf8).withUnsafeBufferPointer { JSONCursor($0).text(0..<$0.count) }
            #expect(text == meant)
        }
    }

    @Test func `a fault behind a long string is named by its own byte`() {
        let long = String(repeating: "x", count: 10_000)
        let text = "{\"a\":\"\(long)\",\"b\":1,\"b\":2}"
        let failure = #expect(throws: JSONFailure.self) { try parsed(text) }
        #expect(failure?.reason.contains("duplicate") == true)
        let place = text.utf8.count - 3
        #expect(((place - 4)...(place + 1)).contains(failure?.offset ?? 0), "\(failure?.offset ?? 0) and not \(place)")
        #expect(failure?.pointer.description == "/b")
    }

    @Test func `long names are names`() throws {
        let name = String(repeating: "n", count: 10_000)
        #expect(try parsed("{\"\(name)\":1}").object?.members.first?.name == name)
        #expect(throws: JSONFailure.self) { try parsed("{\"\(name)\":1,\"\(name)\":2}") }
    }

    @Test func `many long strings keep their places`() throws {
        let texts = (0..<50).map { index in String(repeating: "\(index % 10)", count: 4090 + index) }
        let value = try parsed("[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]")
        #expect(value.array?.compactMap(\.string) == texts)
    }

    @Test func `what is written is read back the same`() throws {
        var values = RandomValues(random: SeededRandom(seed: 21))
        for _ in 0..<3000 {
            let value = values.value()
            let bytes = JSONWriter.bytes(of: value)
            let isOneLine = bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
            #expect(isOneLine)
            let again = try JSONParser.parse(bytes)
            #expect(again == value)
            #expect(JSONWriter.bytes(of: again) == bytes)
        }
    }

    @Test func `mutated texts never trap, and what is accepted can be written and read`() throws {
        var values = RandomValues(random: SeededRandom(seed: 22))
        var random = SeededRandom(seed: 23)
        let spice = utf8("{}[]\",:\\u0123456789eE+-.tfn \n") + [0, 0x80, 0xC3, 0xE2, 0xF0, 0xFF]
        var accepted = 0
        for _ in 0..<30_000 {
            var bytes = JSONWriter.bytes(of: values.value(depth: 3))
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                let byte = spice.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.insert(byte, at: place)
                case 1: if place < bytes.count { bytes[place] = byte }
                case 2: if place < bytes.count { bytes.remove(at: place) }
                default: bytes.removeSubrange(place...)
                }
            }
            let scanned = (try? JSONScanner.check(bytes)) != nil
            guard let value = try? JSONParser.parse(bytes) else { continue }
            accepted += 1
            #expect(scanned)
            #expect(try JSONParser.parse(JSONWriter.bytes(of: value)) == value)
        }
        #expect(accepted > 1000)
    }
}
