// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@Suite struct SchemaBoundsTests {
    @Test(arguments: [
        (##"{"$ref":"#"}"##, "1"), (##"{"allOf":[{"$ref":"#"}]}"##, "1"), (##"{"not":{"$ref":"#"}}"##, "1"),
        (##"{"anyOf":[{"$ref":"#/$defs/a"},true],"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##, "1"),
    ])
    func `a schema that goes in circles ends, and fits nothing`(schema: String, value: String) throws {
        let faults = try JSONSchema(try parsed(schema)).faults(in: try parsed(value))
        #expect(faults.count == 1)
        #expect(faults.first?.message.contains("refer to itself") == true)
    }

    @Test func `a schema that doubles its work at each level is given up`() throws {
        var definitions = JSONObject()
        for level in 0..<60 {
            let next = JSONValue.object(["$ref": .string("#/$defs/\(level + 1)")])
            definitions["\(level)"] = .object(["allOf": .array([next, next])])
        }
        definitions["60"] = .object(["not": .bool(false)])
        let schema = try JSONSchema(.object(["$ref": .string("#/$defs/0"), "$defs": .object(definitions)]))
        var limits = SchemaLimits()
        limits.steps = 10_000
        #expect(
            schema.faults(in: .null, limits: limits).first?.message == "checking the value takes more than 10000 steps")
    }

    @Test func `being given up is no fit, not even for a not`() throws {
        let schema = try JSONSchema(try parsed(#"{"not":{"pattern":"(a|a)*b"}}"#))
        var limits = SchemaLimits()
        limits.steps = 100
        #expect(schema.faults(in: .string(String(repeating: "a", count: 1000)), limits: limits).count == 1)
        #expect(schema.faults(in: .string(String(repeating: "a", count: 1000))).isEmpty)
    }

    @Test func `a chain of references needs no stack`() throws {
        var definitions = JSONObject()
        for level in 0..<20_000 {
            definitions.members.append(.init("\(level)", .object(["$ref": .string("#/$defs/\(level + 1)")])))
        }
        definitions.members.append(.init("20000", .bool(true)))
        let schema = try JSONSchema(.object(["$ref": .string("#/$defs/19990"), "$defs": .object(definitions)]))
        #expect(schema.faults(in: .null).isEmpty)
    }

    @Test func `no more faults are listed than wanted`() throws {
        let schema = try JSONSchema(try parsed(#"{"items":{"type":"string"}}"#))
        let faults = schema.faults(in: .array([JSONValue](repeating: .null, count: 1000)))
        #expect(faults.count == SchemaLimits().faults)
    }

    @Test func `any schema and any value come to an end`() throws {
        let samples = [
            ##"{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"required":["a"],"additionalProperties":false,"$defs":{"b":{"enum":[1,"x"]}}}"##,
            ##"{"$id":"http://x/a","$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"unevaluatedItems":{"not":{"const":0}}}"##,
            #"{"if":{"pattern":"^(a|b)+[^c]{2,5}\\d$"},"then":{"minLength":3,"maxLength":9},"else":{"multipleOf":0.3}}"#,
            #"{"anyOf":[{"oneOf":[{"minimum":1},{"maximum":9.5}]},{"patternProperties":{"^.$":{"uniqueItems":true}}}],"dependentSchemas":{"a":false}}"#,
        ]
        var values = RandomValues(random: SeededRandom(seed: 71))
        var random = SeededRandom(seed: 72)
        var compiled = 0
        for round in 0..<4000 {
            var bytes = utf8(samples[round % samples.count])
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let spice = utf8("{}[]\":,#/$0123456789.-eabtrue").randomElement(using: &random) ?? 0
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = spice
            }
            guard let document = try? JSONParser.parse(bytes), let schema = try? JSONSchema(document) else { continue }
            compiled += 1
            for _ in 0..<4 { _ = schema.faults(in: values.value()) }
        }
        #expect(compiled > 500)
    }
}
